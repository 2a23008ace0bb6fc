// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attributes of operators, and the parts that their rules are written of.
//
// A dim may be counted from the end: -1 is the last. Attributes that fit no tensor come back as `rule_status`, never as
// a rule that is nearly right: `where` is then the attribute to blame, or its value where there is only one.

#include <hyperparallel/operators/partial_algebra.hpp>
#include <hyperparallel/operators/rule_text.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

/// Dims as an attribute lists them: `{0, -1}`, or one alone.
struct dim_list {
  int count = 0;
  int at[max_dims] = {};

  constexpr dim_list() = default;
  // Implicit on purpose: one dim stands where a list may.
  template <class... Dims>
    requires(sizeof...(Dims) > 0 && sizeof...(Dims) <= max_dims)
  constexpr dim_list(Dims... dims) : count(static_cast<int>(sizeof...(Dims))), at{static_cast<int>(dims)...} {}
  friend constexpr bool operator==(const dim_list&, const dim_list&) = default;
};

/// `dim` counted from the front, or -1 where a tensor of `rank` dims has none such.
constexpr int from_front(int dim, int rank) {
  const int d = dim < 0 ? dim + rank : dim;
  return d >= 0 && d < rank ? d : -1;
}

/// A list of dims of a tensor, counted from the front and also as bits. Fails with axis_is_out_of_range, axes_repeat or
/// too_many_dims (the tensor has more than the core holds).
struct chosen_dims {
  rule_status status{};
  unsigned mask = 0;
  dim_list dims{};
};

constexpr bool has(unsigned mask, int dim) { return (mask >> dim & 1u) != 0; }

constexpr bool is_rank(int rank) { return rank >= 0 && rank <= max_dims; }

constexpr chosen_dims choose(const dim_list& dims, int rank) {
  chosen_dims c;
  if (!is_rank(rank)) c.status = {rule_code::too_many_dims, rank};
  for (int i = 0; i < dims.count && c.status.code == rule_code::ok; ++i) {
    const int d = from_front(dims.at[i], rank);
    if (d < 0)
      c.status = {rule_code::axis_is_out_of_range, dims.at[i]};
    else if (has(c.mask, d))
      c.status = {rule_code::axes_repeat, dims.at[i]};
    else
      c.mask |= 1u << d;
    c.dims.at[c.dims.count++] = d;
  }
  return c;
}

/// All dims of a tensor: what no list stands for where an operator reduces or flattens.
constexpr dim_list all_dims(int rank) {
  dim_list d;
  for (; d.count < rank && d.count < max_dims; ++d.count) d.at[d.count] = d.count;
  return d;
}

constexpr rule_result refused(const char* name, const rule_status& s) { return no_rule(name, s.code, s.where); }

/// A rule without tensors.
constexpr factor_rule rule_called(const char* name, const partial_words& words, int flops) {
  factor_rule r;
  r.name = short_text(name);
  r.partials = words;
  r.flops_per_point = flops;
  return r;
}

/// `count` new factors that pass through; returns the first.
constexpr int add_factors(factor_rule& r, int count, bool yields = false) {
  const int first = r.factor_count;
  for (int i = 0; i < count; ++i) {
    const int f = add_factor(r);
    if (f < max_factors) r.factor[f].yields = yields;
  }
  return first;
}

constexpr int add_whole(factor_rule& r, extent_t extent = 0) {
  return add_factor(r, factor_kind::need_replication, extent);
}

/// `count` more dims, of the factors from `first` on.
constexpr void add_dims(tensor_factors& t, int first, int count) {
  for (int i = 0; i < count; ++i) add_dim(t, first + i);
}

/// Turns factors into such that every device needs whole; bit i of `mask` is factor first + i.
constexpr void set_kind(factor_rule& r, int first, unsigned mask, factor_kind kind) {
  for (int i = 0; first + i < r.factor_count; ++i)
    if (has(mask, i)) r.factor[first + i].kind = kind;
}

/// Operand `o` is a bias: added once beside the reduction. Where the result is a partial sum it joins by a fill.
constexpr void stand_outside(factor_rule& r, int o) {
  r.outside |= 1u << o;
  hyperparallel::detail::say_all(r.partials, 1u << o, reduce_op::sum, partial_mode::joins);
  hyperparallel::detail::say_all(r.partials, 1u << o, reduce_op::avg, partial_mode::joins);
}

/// One operand and one result of the same dims, a factor each; those of `mask` are of `kind`.
constexpr rule_result same_dims(const char* name, int rank, unsigned mask, factor_kind kind, const partial_words& words,
                                int flops) {
  if (!is_rank(rank)) return no_rule(name, rule_code::too_many_dims, rank);
  factor_rule r = rule_called(name, words, flops);
  add_factors(r, rank);
  set_kind(r, 0, mask, kind);
  add_dims(add_operand(r), 0, rank);
  add_dims(add_result(r), 0, rank);
  return checked_rule(r);
}

/// The rule that `text` writes, in the language of listed operators (rule_text.hpp). As in all rules from attributes, factors
/// have no letters. `ranks`: of the operands, where the text has a `*`.
constexpr rule_result written(const char* name, const char* text, const rule_traits& traits,
                              const operand_ranks& ranks = {}) {
  rule_result r = rule_from(name, text, traits, ranks);
  for (int f = 0; f < r.rule.factor_count; ++f) r.rule.factor[f].letter = '\0';
  return r;
}

}}}  // namespace hyperparallel::v0_2::rules
