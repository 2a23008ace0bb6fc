// SPDX-License-Identifier: Apache-2.0
#pragma once
// Recomputation: activations that are not kept for the backward phase but computed there once more.
//
//   recompute(g, "layers.*");                 whole layers: only what passes from layer to layer is kept
//   recompute(g, "*.feed_forward.activation");  one operator of each layer
//   recompute(g, "layers.*", spared);         whole layers, but results of the operators that `spared` names are kept
//
// To be called after `differentiate`, once for each pattern; every name that a pattern matches is a forward operator's.
// A copy of such an operator stands in the backward phase right before the first operator that reads its result, after
// copies of those that it needs itself; backward operators read the copies. Copies exist only where they are read.
//
// Kept all the same is what leaves a repetition: results that operators of another repetition read, what a segment
// carries, the loss, and what is spared. Operators are of one repetition where their names agree up to the first part that is a number,
// "layers.3." or "layers.0-7."; so layers are recomputed one at a time, each from its own input.
// O(operators · (pattern + name)). Source: Chen et al., "Training deep nets with sublinear memory cost", 2016.

#include <hyperparallel/graph/operator_order.hpp>
#include <hyperparallel/graph/sharding_plan.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/support/static_vector.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Characters of a name that tell its repetition: up to the '.' after the first part that begins with a digit, or 0.
constexpr int repetition_length(const char* name) {
  for (int i = 0; name[i] != '\0'; ++i) {
    if ((i > 0 && name[i - 1] != '.') || name[i] < '0' || name[i] > '9') continue;
    while (name[i] != '\0' && name[i] != '.') ++i;
    return i;
  }
  return 0;
}

constexpr bool same_repetition(const char* a, const char* b) {
  const int length = repetition_length(a);
  if (length != repetition_length(b)) return false;
  for (int i = 0; i < length; ++i)
    if (a[i] != b[i]) return false;
  return true;
}

}  // namespace detail

/// Patterns of operators whose results are kept although they are named to be recomputed.
using spared_patterns = static_vector<short_text, 16>;

namespace detail {

class recomputation_pass {
 public:
  constexpr explicit recomputation_pass(graph& given) : g(given), first_count(given.op.size) {
    matched.resize(first_count, false);
    copy.resize(first_count, -1);
    placed.resize(first_count, false);
    copied.resize(g.tensor.size, -1);
    for (int c = 0; c < first_count; ++c) {
      if (!g.op[c].recomputed) continue;
      const int f = g.op[c].forward;
      matched[f] = true;
      copy[f] = c;
      for (int r = 0; r < g.op[c].result_count; ++r) copied[g.op[f].result[r]] = g.op[c].result[r];
    }
  }

  /// Whether the pattern matches any forward operator; those that are spared stay as they are.
  constexpr bool match(const char* pattern, const spared_patterns& spared) {
    bool any = false;
    for (int f = 0; f < first_count; ++f) {
      if (!matches(f, pattern)) continue;
      bool kept = false;
      for (const short_text& each : spared) kept = kept || matches(f, each.text);
      matched[f] = matched[f] || !kept;
      any = true;
    }
    return any;
  }
  /// The first pattern of these that matches no forward operator, or null.
  constexpr const char* first_unmatched(const spared_patterns& spared) const {
    for (const short_text& each : spared) {
      bool any = false;
      for (int f = 0; f < first_count && !any; ++f) any = matches(f, each.text);
      if (!any) return each.text;
    }
    return nullptr;
  }

  constexpr void run() {
    find_dropped();
    for (int o = 0; o < first_count; ++o) {
      if (g.op[o].recomputed) continue;  // placed where it is needed
      if (g.op[o].phase == graph_phase::backward) read_copies(o);
      order.push(o);
    }
    arrange_operators(g, order);
  }

 private:
  constexpr bool matches(int f, const char* pattern) const {
    return g.op[f].phase == graph_phase::forward && name_matches(pattern, g.name_of_op(f));
  }
  constexpr void find_dropped() {
    dropped.resize(g.tensor.size, false);
    for (int f = 0; f < first_count; ++f)
      for (int r = 0; matched[f] && r < g.op[f].result_count; ++r) dropped[g.op[f].result[r]] = true;
    for (int o = 0; o < first_count && g.op[o].phase == graph_phase::forward; ++o) {
      for (int i = 0; i < g.op[o].operand_count; ++i) {
        const int t = g.op[o].operand[i];
        if (dropped[t] && !same_repetition(g.name_of_op(o), g.name_of_op(g.tensor[t].producer))) dropped[t] = false;
      }
    }
    for (int s = 0; s < g.segment.size; ++s) dropped[g.segment[s].carried_out] = false;
    if (g.loss >= 0) dropped[g.loss] = false;
  }

  /// Lets operator `o` read copies of dropped tensors, which it places before.
  constexpr void read_copies(int o) {
    for (int i = 0; i < g.op[o].operand_count; ++i) {
      int t = g.op[o].operand[i];
      const int producer = g.tensor[t].producer;
      if (producer >= 0 && g.op[producer].recomputed) t = g.tensor[t].source;
      if (t < dropped.size && dropped[t]) {
        place_copy(g.tensor[t].producer);
        t = copied[t];
      }
      g.op[o].operand[i] = t;
    }
  }

  constexpr void place_copy(int f) {
    if (placed[f]) return;
    placed[f] = true;
    if (copy[f] < 0) append_copy(f);
    read_copies(copy[f]);
    order.push(copy[f]);
  }

  constexpr void append_copy(int f) {
    graph_operator o = g.op[f];
    o.phase = graph_phase::backward;
    o.recomputed = true;
    o.forward = f;
    copy[f] = g.op.size;
    for (int r = 0; r < o.result_count; ++r) {
      const int source = o.result[r];
      graph_tensor t = g.tensor[source];
      t.name = add_text(g, "recomputed(", g.text_at(t.name), ")");
      t.producer = copy[f];
      t.source = source;
      t.gradient = -1;
      if (r == 0) o.name = t.name;
      copied[source] = o.result[r] = g.tensor.push(t);
    }
    g.op.push(o);
  }

  graph& g;
  int first_count;
  growing_array<bool> matched;  ///< forward operators
  growing_array<int> copy;      ///< of each forward operator, or -1
  growing_array<bool> placed;
  growing_array<int> copied;  ///< of each tensor: its recomputed value, or -1
  growing_array<bool> dropped;
  growing_array<int> order;
};

constexpr void recompute_here(graph& g, const char* pattern, const spared_patterns& spared) {
  if (g.status.code != graph_code::ok) return;
  recomputation_pass pass(g);
  const char* unmatched = pass.first_unmatched(spared);
  if (unmatched == nullptr && pass.match(pattern, spared)) return pass.run();
  const int name = add_text(g, unmatched == nullptr ? pattern : unmatched);
  g.fail({graph_code::pattern_matches_nothing, name});
}
void recompute_in_library(graph& g, const char* pattern, const spared_patterns& spared);

}  // namespace detail

/// Marks what the pattern matches, but for what is spared, as recomputed. Where a pattern matches nothing, `graph::status` has it as
/// the operator's name.
constexpr void recompute(graph& g, const char* pattern, const spared_patterns& spared = {}) {
  HYPERPARALLEL_TWIN(detail::recompute_in_library(g, pattern, spared));
  detail::recompute_here(g, pattern, spared);
}

}}  // namespace hyperparallel::v0_2
