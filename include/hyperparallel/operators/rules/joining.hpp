// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors put together along a dim, and taken apart.
//
// Along the working dim a slice of the result is no slice of the operands, so that dim needs a halo and is refused
// where it is sharded. Other dims must agree. Parts of one tensor all have the layout of one rule; `part` says which it
// is, for its extent.

#include <hyperparallel/operators/rules/attributes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

namespace parts {

constexpr rule_result check_part(const char* name, const shape& from, int& dim) {
  const chosen_dims c = choose(dim, from.rank);
  if (c.status.code != rule_code::ok) return refused(name, c.status);
  dim = c.dims.at[0];
  return {};
}

/// The part of `extent` elements along `dim`; all of it keeps its axes.
constexpr rule_result part_of(const char* name, const shape& from, int dim, extent_t extent) {
  factor_rule r = rule_called(name, moves_elements(0b1u), 0);
  add_factors(r, from.rank);
  add_dims(add_operand(r), 0, from.rank);
  add_dims(add_result(r), 0, from.rank);
  if (extent == from.extent[dim]) return checked_rule(r);
  r.factor[dim].kind = factor_kind::permutation;
  r.result[0].extent[dim] = extent;
  return checked_rule(r);
}

}  // namespace parts

/// Tensors one after the other along `dim`. Fails with axes_differ_from_rank or sizes_do_not_fit, naming the operand.
constexpr rule_result concat(const shape* operand, int count, int dim) {
  if (count < 1 || count > max_operands) return no_rule("concat", rule_code::too_many_operands, count);
  const int rank = operand[0].rank;
  const chosen_dims c = choose(dim, rank);
  if (c.status.code != rule_code::ok) return refused("concat", c.status);
  const int along = c.dims.at[0];
  extent_t total = 0;
  for (int o = 0; o < count; ++o) {
    if (operand[o].rank != rank) return no_rule("concat", rule_code::axes_differ_from_rank, o);
    for (int d = 0; d < rank; ++d)
      if (d != along && operand[o].extent[d] != operand[0].extent[d])
        return no_rule("concat", rule_code::sizes_do_not_fit, o);
    total += operand[o].extent[along];
  }
  factor_rule r = rule_called("concat", moves_elements((1u << count) - 1, partial_mode::together), 0);
  add_factors(r, rank);
  r.factor[along] = {0, factor_kind::permutation, reduce_op::none, false, false, total};
  for (int o = 0; o < count; ++o) {
    add_dims(add_operand(r), 0, rank);
    r.operand[o].extent[along] = operand[o].extent[along];
  }
  add_dims(add_result(r), 0, rank);
  return checked_rule(r);
}

/// `count` tensors of the same shape along a new dim, at `dim` of the result; the new dim is whole.
constexpr rule_result stack(int rank, int count, int dim) {
  if (count < 1 || count > max_operands) return no_rule("stack", rule_code::too_many_operands, count);
  if (rank < 0 || rank >= max_dims) return no_rule("stack", rule_code::too_many_dims, rank);
  const int at = from_front(dim, rank + 1);
  if (at < 0) return no_rule("stack", rule_code::axis_is_out_of_range, dim);
  factor_rule r = rule_called("stack", moves_elements((1u << count) - 1, partial_mode::together), 0);
  add_factors(r, rank);
  for (int o = 0; o < count; ++o) add_dims(add_operand(r), 0, rank);
  const int fresh = add_whole(r, count);
  tensor_factors& t = add_result(r);
  add_dims(t, 0, at);
  add_dim(t, fresh);
  add_dims(t, at, rank - at);
  return checked_rule(r);
}

/// Any of the tensors along `dim`, without it.
constexpr rule_result unbind(int rank, int dim) {
  const chosen_dims c = choose(dim, rank);
  if (c.status.code != rule_code::ok) return refused("unbind", c.status);
  factor_rule r = rule_called("unbind", moves_elements(0b1u), 0);
  add_factors(r, rank);
  set_kind(r, 0, c.mask, factor_kind::need_replication);
  add_dims(add_operand(r), 0, rank);
  tensor_factors& t = add_result(r);
  for (int d = 0; d < rank; ++d)
    if (!has(c.mask, d)) add_dim(t, d);
  return checked_rule(r);
}

/// Number of parts of `size` elements (the last may be smaller) that `extent` has.
constexpr extent_t part_count(extent_t extent, extent_t size) { return extent == 0 ? 1 : ceil_divide(extent, size); }

/// Parts of `size` elements along `dim`, the last one of what is left. Fails with attribute_is_invalid where there is
/// no such part or no such size.
constexpr rule_result split(const shape& from, int dim, extent_t size, extent_t part = 0) {
  if (const rule_result bad = parts::check_part("split", from, dim); bad.status.code != rule_code::ok) return bad;
  const extent_t n = from.extent[dim];
  if (size < 1 || part < 0 || part >= part_count(n, size)) return no_rule("split", rule_code::attribute_is_invalid);
  return parts::part_of("split", from, dim, smaller(size, n - part * size));
}

/// Parts of these sizes along `dim`. Fails with sizes_do_not_fit where they are not all of it.
constexpr rule_result split_by_sizes(const shape& from, int dim, const extent_t* size, int count, int part = 0) {
  if (const rule_result bad = parts::check_part("split", from, dim); bad.status.code != rule_code::ok) return bad;
  extent_t total = 0;
  for (int i = 0; i < count; ++i) {
    if (size[i] < 0) return no_rule("split", rule_code::attribute_is_invalid, i);
    total += size[i];
  }
  if (total != from.extent[dim]) return no_rule("split", rule_code::sizes_do_not_fit, dim);
  if (part < 0 || part >= count) return no_rule("split", rule_code::attribute_is_invalid, part);
  return parts::part_of("split", from, dim, size[part]);
}

}}}  // namespace hyperparallel::v0_2::rules
