// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements read at indices, and sets of values.
//
// An index names a place in the whole dim, so a dim that indices run over is whole. Elements are moved, so every reduction
// of the operand that holds them passes. Indices are never partial.

#include <hyperparallel/operators/rules/attributes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

/// result[i…][j][k…] = x[i…][index[i…][j][k…]][k…]: index and x have the same dims but along `dim`. Operands: x, index.
constexpr rule_result gather(int rank, int dim) {
  const chosen_dims c = choose(dim, rank);
  if (c.status.code != rule_code::ok) return refused("gather", c.status);
  factor_rule r = rule_called("gather", moves_elements(0b01u), 0);
  add_factors(r, rank, true);
  const int places = add_whole(r);
  tensor_factors& x = add_operand(r);
  for (int d = 0; d < rank; ++d) add_dim(x, has(c.mask, d) ? places : d);
  add_dims(add_operand(r), 0, rank);
  add_dims(add_result(r), 0, rank);
  return checked_rule(r);
}

/// Slices of x along `dim`, at indices of `index_rank` dims, which take the place of the dim. Operands: x, index.
constexpr rule_result index_select(int rank, int dim, int index_rank = 1) {
  const chosen_dims c = choose(dim, rank);
  if (c.status.code != rule_code::ok) return refused("index_select", c.status);
  if (index_rank < 0 || rank - 1 + index_rank > max_dims)
    return no_rule("index_select", rule_code::too_many_dims, rank - 1 + index_rank);
  factor_rule r = rule_called("index_select", moves_elements(0b01u), 0);
  add_factors(r, rank);
  set_kind(r, 0, c.mask, factor_kind::need_replication);
  const int first = add_factors(r, index_rank);
  add_dims(add_operand(r), 0, rank);
  add_dims(add_operand(r), first, index_rank);
  tensor_factors& t = add_result(r);
  for (int d = 0; d < rank; ++d) {
    if (has(c.mask, d))
      add_dims(t, first, index_rank);
    else
      add_dim(t, d);
  }
  return checked_rule(r);
}

/// Slices of x at tuples of indices, which lie along the last dim of index. `depth`: indices of a tuple, so x keeps its
/// dims from `depth` on. Operands: x, index. Fails with axes_differ_from_rank, naming the depth.
constexpr rule_result gather_nd(int rank, int index_rank, int depth) {
  if (!is_rank(rank) || index_rank < 1 || index_rank > max_dims)
    return no_rule("gather_nd", rule_code::too_many_dims, index_rank);
  if (depth < 1 || depth > rank) return no_rule("gather_nd", rule_code::axes_differ_from_rank, depth);
  if (index_rank - 1 + rank - depth > max_dims)
    return no_rule("gather_nd", rule_code::too_many_dims, index_rank - 1 + rank - depth);
  factor_rule r = rule_called("gather_nd", moves_elements(0b01u), 0);
  const int places = add_factors(r, rank), tuples = add_factors(r, index_rank - 1), tuple = add_whole(r, depth);
  set_kind(r, 0, (1u << depth) - 1, factor_kind::need_replication);
  add_dims(add_operand(r), places, rank);
  add_dims(add_operand(r), tuples, index_rank - 1);
  add_dim(r.operand[1], tuple);
  add_dims(add_result(r), tuples, index_rank - 1);
  add_dims(r.result[0], depth, rank - depth);
  return checked_rule(r);
}

/// Truth values in place of indices: `depth` classes along `dim` of the result. `depth` 0: as many as the largest index
/// says, which the caller has reduced over all devices. Fails with axis_is_out_of_range, attribute_is_invalid.
constexpr rule_result one_hot(int rank, int dim, extent_t depth) {
  if (rank < 0 || rank >= max_dims) return no_rule("one_hot", rule_code::too_many_dims, rank);
  const int at = from_front(dim, rank + 1);
  if (at < 0) return no_rule("one_hot", rule_code::axis_is_out_of_range, dim);
  if (depth < 0) return no_rule("one_hot", rule_code::attribute_is_invalid);
  factor_rule r = rule_called("one_hot", refuse_partials(), 0);
  add_factors(r, rank);
  const int classes = add_whole(r, depth);
  add_dims(add_operand(r), 0, rank);
  tensor_factors& t = add_result(r);
  add_dims(t, 0, at);
  add_dim(t, classes);
  add_dims(t, at, rank - at);
  return checked_rule(r);
}

/// Whether each element is in a set of `set_rank` dims. A sharded set leaves an `any`.
constexpr rule_result isin(int rank, int set_rank) {
  if (!is_rank(rank) || !is_rank(set_rank)) return no_rule("isin", rule_code::too_many_dims, set_rank);
  factor_rule r = rule_called("isin", refuse_partials(), 1);
  add_factors(r, rank);
  for (int d = 0; d < set_rank; ++d) add_factor(r, factor_kind::reduction, 0, reduce_op::any);
  add_dims(add_operand(r), 0, rank);
  add_dims(add_operand(r), rank, set_rank);
  add_dims(add_result(r), 0, rank);
  return checked_rule(r);
}

}}}  // namespace hyperparallel::v0_2::rules
