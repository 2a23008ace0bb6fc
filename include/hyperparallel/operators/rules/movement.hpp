// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators that reorder, add or drop dims, or repeat elements. Elements are moved, not computed with, so every
// reduction passes.

#include <hyperparallel/operators/rules/attributes.hpp>
#include <hyperparallel/operators/shape_factors.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

/// Result dim i is dim order[i]. Fails with axes_differ_from_rank, axis_is_out_of_range, axes_repeat.
constexpr rule_result permute(int rank, const dim_list& order) {
  if (order.count != rank) return no_rule("permute", rule_code::axes_differ_from_rank, order.count);
  const chosen_dims c = choose(order, rank);
  if (c.status.code != rule_code::ok) return refused("permute", c.status);
  factor_rule r = rule_called("permute", moves_elements(0b1u), 0);
  add_factors(r, rank);
  add_dims(add_operand(r), 0, rank);
  tensor_factors& t = add_result(r);
  for (int i = 0; i < rank; ++i) add_dim(t, c.dims.at[i]);
  return checked_rule(r);
}

/// Two dims exchanged.
constexpr rule_result transpose(int rank, int a, int b) {
  if (!is_rank(rank)) return no_rule("transpose", rule_code::too_many_dims, rank);
  const int i = from_front(a, rank), j = from_front(b, rank);
  if (i < 0 || j < 0) return no_rule("transpose", rule_code::axis_is_out_of_range, i < 0 ? a : b);
  dim_list order = all_dims(rank);
  order.at[i] = j;
  order.at[j] = i;
  rule_result r = permute(rank, order);
  r.rule.name = short_text("transpose");
  return r;
}

/// One more dim of size 1, at `dim` of the result.
constexpr rule_result expand_dims(int rank, int dim) {
  if (rank < 0 || rank >= max_dims) return no_rule("expand_dims", rule_code::too_many_dims, rank);
  const int at = from_front(dim, rank + 1);
  if (at < 0) return no_rule("expand_dims", rule_code::axis_is_out_of_range, dim);
  factor_rule r = rule_called("expand_dims", moves_elements(0b1u), 0);
  add_factors(r, rank);
  add_dims(add_operand(r), 0, rank);
  tensor_factors& t = add_result(r);
  add_dims(t, 0, at);
  add_dim(t);
  add_dims(t, at, rank - at);
  return checked_rule(r);
}

/// Without the listed dims, of size 1; without all such dims, where none is listed. Fails with sizes_do_not_fit where a
/// dim is larger, axis_is_out_of_range, axes_repeat.
constexpr rule_result squeeze(const shape& from, const dim_list& dims = {}) {
  chosen_dims c = choose(dims, from.rank);
  if (c.status.code != rule_code::ok) return refused("squeeze", c.status);
  factor_rule r = rule_called("squeeze", moves_elements(0b1u), 0);
  tensor_factors &x = add_operand(r), &y = add_result(r);
  for (int d = 0; d < from.rank; ++d) {
    const bool one = from.extent[d] == 1;
    if (has(c.mask, d) && !one) return no_rule("squeeze", rule_code::sizes_do_not_fit, d);
    if (one && (dims.count == 0 || has(c.mask, d))) {
      add_dim(x);
      continue;
    }
    const int f = add_factor(r);
    add_dim(x, f);
    add_dim(y, f);
  }
  return checked_rule(r);
}

/// Dims of size 1, and missing ones before them, repeated to the extents of `to`. Each device makes its own part of
/// what is repeated. Fails with sizes_do_not_fit, naming the dim of `to`, and axes_differ_from_rank where `to` has
/// fewer dims.
constexpr rule_result expand(const shape& from, const shape& to) {
  if (!is_rank(to.rank)) return no_rule("expand", rule_code::too_many_dims, to.rank);
  if (to.rank < from.rank) return no_rule("expand", rule_code::axes_differ_from_rank, to.rank);
  factor_rule r = rule_called("expand", moves_elements(0b1u), 0);
  tensor_factors &x = add_operand(r), &y = add_result(r);
  for (int d = 0; d < to.rank; ++d) {
    const int own = d - (to.rank - from.rank);
    const bool same = own >= 0 && from.extent[own] == to.extent[d];
    if (!same && own >= 0 && from.extent[own] != 1) return no_rule("expand", rule_code::sizes_do_not_fit, d);
    if (!same && to.extent[d] < 1) return no_rule("expand", rule_code::attribute_is_invalid, d);
    const int f = add_factor(r, factor_kind::pass_through, same ? 0 : to.extent[d]);
    if (same)
      add_dim(x, f);
    else if (own >= 0)
      add_dim(x);
    add_dim(y, f);
  }
  return checked_rule(r);
}

/// Each element `times` times in a row along `dim`: the copy is the minor factor, so the dim may stay sharded.
constexpr rule_result repeat_interleave(int rank, int dim, extent_t times) {
  const chosen_dims c = choose(dim, rank);
  if (c.status.code != rule_code::ok) return refused("repeat_interleave", c.status);
  if (times < 1) return no_rule("repeat_interleave", rule_code::attribute_is_invalid);
  factor_rule r = rule_called("repeat_interleave", moves_elements(0b1u), 0);
  add_factors(r, rank);
  add_dims(add_operand(r), 0, rank);
  tensor_factors& y = add_result(r);
  for (int d = 0; d < rank; ++d) {
    add_dim(y, d);
    if (has(c.mask, d)) extend_dim(y, add_whole(r, times));
  }
  return checked_rule(r);
}

/// Elements moved around along the listed dims (all, where none is listed): every device needs those of others.
constexpr rule_result rearrange(const char* name, int rank, const dim_list& dims) {
  const chosen_dims c = choose(dims.count == 0 ? all_dims(rank) : dims, rank);
  if (c.status.code != rule_code::ok) return refused(name, c.status);
  return same_dims(name, rank, c.mask, factor_kind::permutation, moves_elements(0b1u), 0);
}
constexpr rule_result roll(int rank, const dim_list& dims = {}) { return rearrange("roll", rank, dims); }
constexpr rule_result flip(int rank, const dim_list& dims = {}) { return rearrange("flip", rank, dims); }

/// Zeros above a diagonal of the last two dims: which elements these are depends on where a slice begins, so
/// both dims are whole.
constexpr rule_result tril(int rank) {
  const chosen_dims c = choose({-2, -1}, rank);
  if (c.status.code != rule_code::ok) return refused("tril", c.status);
  return same_dims("tril", rank, c.mask, factor_kind::need_replication, moves_elements(0b1u), 0);
}

/// Dims [first, last] as one; see `reshape`.
constexpr rule_result flatten(const shape& from, int first = 0, int last = -1) {
  if (from.rank == 0) return reshape(from, shape(1));
  const int i = from_front(first, from.rank), j = from_front(last, from.rank);
  if (i < 0 || j < 0) return no_rule("flatten", rule_code::axis_is_out_of_range, i < 0 ? first : last);
  if (i > j) return no_rule("flatten", rule_code::attribute_is_invalid, first);
  shape to;
  for (int d = 0; d < from.rank; ++d) {
    if (d > i && d <= j)
      to.extent[to.rank - 1] *= from.extent[d];
    else
      to.extent[to.rank++] = from.extent[d];
  }
  rule_result r = reshape(from, to);
  r.rule.name = short_text("flatten");
  return r;
}

}}}  // namespace hyperparallel::v0_2::rules
