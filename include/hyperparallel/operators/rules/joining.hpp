// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors put together along a dim. Parts of one tensor are slices of it (slicing.hpp).
//
// Along the working dim a slice of the result is no slice of the operands, so that dim needs a halo and is refused
// where it is sharded. Other dims must agree.

#include <hyperparallel/operators/rules/attributes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

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

}}}  // namespace hyperparallel::v0_2::rules
