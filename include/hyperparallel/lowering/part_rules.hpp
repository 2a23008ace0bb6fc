// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rules of a strategy narrowed to one part of a model: the same axes and dims, with `where` patterns that no operator
// of another part matches.
//
// A rule that no operator of the part can follow is left out; one that only its operators can follow keeps `*`. Any
// other gets patterns `*prefix*` of the names that it is meant for, the shortest that match nothing else.
// Law: the rules of all parts together, each narrowed to its part, decide what the rules decided.
// O(rules · operators² · name) where names clash, else less.

#include <hyperparallel/lowering/model_parts.hpp>
#include <hyperparallel/strategy/strategy.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class part_narrowing {
 public:
  constexpr part_narrowing(const graph& graph_of_parts, const model_parts& of, int which,
                           growing_array<strategy_rule>& rules)
      : g(graph_of_parts), parts(of), part(which), to(rules) {}

  /// False where names do not tell the part's operators from others in the length of a pattern.
  constexpr bool narrow(const strategy_rule& r) {
    inside.clear();
    outside.clear();
    const bool any = same_text(r.dim.text, "*");
    const bool product = same_text(r.dim.text, "output") || same_text(r.dim.text, "input");
    const int dim = any || product ? -1 : find_dim(g, r.dim.text);
    if (dim < 0 && !any && !product) return true;
    if (r.stage == rule_stage::compute)
      sort_operators(r, dim, product);
    else
      sort_parameters(r, dim, any);
    for (int i = 0; i < inside.size; ++i) {
      if (inside[i] == covered) continue;
      strategy_rule narrowed = r;
      if (!find_pattern(inside[i], narrowed.where)) return false;
      narrowed.if_present = true;
      for (int k = i; k < inside.size; ++k)
        if (inside[k] != covered && name_matches(narrowed.where.text, g.text_at(inside[k]))) inside[k] = covered;
      to.push(narrowed);
    }
    return true;
  }

 private:
  static constexpr int covered = -1;

  constexpr void put(const strategy_rule& r, int name, int of) {
    (of == part && name_matches(r.where.text, g.text_at(name)) ? inside : outside).push(name);
  }

  constexpr void sort_operators(const strategy_rule& r, int dim, bool product) {
    for (int o = 0; o < g.op.size; ++o) {
      const graph_operator& op = g.op[o];
      if (op.phase > graph_phase::backward || op.forward >= 0 || g.value_of(op).accumulates) continue;
      bool speaks = product && g.value_of(op).is_product;
      for (int l = 0; l < op.loop_count && !speaks; ++l) speaks = op.loop[l].dim == dim && !is_whole(g.rule_of(op), l);
      if (speaks) put(r, op.name, parts.ruled_by[o]);
    }
  }

  constexpr void sort_parameters(const strategy_rule& r, int dim, bool any) {
    for (int t = 0; t < g.tensor.size; ++t) {
      const graph_tensor& x = g.tensor[t];
      if (x.kind != graph_tensor_kind::parameter || x.replaces >= 0) continue;
      bool speaks = any;
      for (int d = 0; d < x.shape.rank; ++d) speaks = speaks || x.dim[d] == dim;
      if (speaks) put(r, x.name, parts.of_tensor[t]);
    }
  }

  constexpr bool excludes(const short_text& pattern) const {
    for (int i = 0; i < outside.size; ++i)
      if (name_matches(pattern.text, g.text_at(outside[i]))) return false;
    return true;
  }

  static constexpr bool ends_word(const char* name, int length) {
    if (name[length] == '\0') return true;
    return name[length] == '.' || name[length] == '_' || name[length] == ')' || name[length] == ':';
  }

  /// `*` + the first `length` characters + `*`, or their last ones that fit.
  static constexpr short_text pattern_of(const char* name, int length) {
    short_text p;
    const int room = short_text::capacity - 2, skipped = length > room ? length - room : 0;
    p.text[0] = '*';
    for (int i = skipped; i < length; ++i) p.text[1 + i - skipped] = name[i];
    p.text[1 + length - skipped] = '*';
    return p;
  }

  constexpr bool find_pattern(int wanted, short_text& pattern) const {
    pattern = short_text("*");
    if (excludes(pattern)) return true;
    const char* const name = g.text_at(wanted);
    const int length = text_length(name);
    for (int n = 1; n <= length; ++n) {
      if (!ends_word(name, n)) continue;
      pattern = pattern_of(name, n);
      if (excludes(pattern)) return true;
    }
    pattern = short_text();
    if (length <= short_text::capacity) {
      pattern = short_text(name);
    } else {
      pattern.text[0] = '*';
      for (int i = 1; i < short_text::capacity; ++i) pattern.text[i] = name[length - short_text::capacity + i];
      pattern.text[short_text::capacity - 1] = name[length - 1];
    }
    return name_matches(pattern.text, name) && excludes(pattern);
  }

  const graph& g;
  const model_parts& parts;
  int part;
  growing_array<strategy_rule>& to;
  growing_array<int> inside, outside;  ///< names of operators, or of parameters, that the rule's dim speaks of
};

/// Appends the rules of `family`, narrowed to part `p` of `g`. False where the names do not suffice.
constexpr bool narrow_rules(const graph& g, const model_parts& parts, int p, const strategy_value& family,
                            growing_array<strategy_rule>& to) {
  detail::part_narrowing narrowing(g, parts, p, to);
  for (const strategy_rule& r : family.rule)
    if (!narrowing.narrow(r)) return false;
  return true;
}

}}}  // namespace hyperparallel::v0_2::detail
