// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements written at indices into a copy of a tensor.
//
// Indices name places of the whole dim, so that dim is whole, and so are the indices along it: an element may be
// written twice. Where elements are added, the order of the indices is of no account and their dim is a reduction,
// beside which the tensor stands outside. Other dims must agree; nothing is sliced to meet.

#include <hyperparallel/operators/rules/attributes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

namespace parts {

/// Operands x, index and source, the last two of one shape; the indices along the dim are of factor `rank`.
constexpr rule_result scatter(const char* name, int rank, int dim, int flops) {
  const chosen_dims c = choose(dim, rank);
  if (c.status.code != rule_code::ok) return refused(name, c.status);
  factor_rule r = rule_called(name, refuse_partials(), flops);
  add_factors(r, rank);
  set_kind(r, 0, c.mask, factor_kind::need_replication);
  const int indices = add_whole(r);
  add_dims(add_operand(r), 0, rank);
  for (int o = 0; o < 2; ++o) {
    tensor_factors& t = add_operand(r);
    for (int d = 0; d < rank; ++d) add_dim(t, has(c.mask, d) ? indices : d);
  }
  add_dims(add_result(r), 0, rank);
  return {{}, r};
}

}  // namespace parts

/// x with source[i…][j][k…] at [i…][index[i…][j][k…]][k…]. Operands: x, index, source.
constexpr rule_result scatter(int rank, int dim) {
  rule_result r = parts::scatter("scatter", rank, dim, 0);
  if (r.status.code != rule_code::ok) return r;
  r.rule.partials = moves_elements(0b101u, partial_mode::together);
  return checked_rule(r.rule);
}

/// x with source added at the indices. Operands: x, index, source.
constexpr rule_result scatter_add(int rank, int dim) {
  rule_result r = parts::scatter("scatter_add", rank, dim, 1);
  if (r.status.code != rule_code::ok) return r;
  r.rule.partials = linear_together(0b101u);
  r.rule.factor[rank].kind = factor_kind::reduction;
  r.rule.factor[rank].op = reduce_op::sum;
  r.rule.outside = 0b001u;
  return checked_rule(r.rule);
}

/// x with updates[i…] as its slices index[i…] of dim 0. Operands: x, index, updates.
constexpr rule_result scatter_update(int rank, int index_rank) {
  if (rank < 1 || index_rank < 0 || index_rank + rank - 1 > max_dims || rank > max_dims)
    return no_rule("scatter_update", rule_code::too_many_dims, index_rank + rank - 1);
  factor_rule r = rule_called("scatter_update", moves_elements(0b101u, partial_mode::together), 0);
  add_factors(r, rank);
  r.factor[0].kind = factor_kind::need_replication;
  for (int d = 0; d < index_rank; ++d) add_whole(r);
  add_dims(add_operand(r), 0, rank);
  add_dims(add_operand(r), rank, index_rank);
  add_dims(add_operand(r), rank, index_rank);
  add_dims(r.operand[2], 1, rank - 1);
  add_dims(add_result(r), 0, rank);
  return checked_rule(r);
}

/// x with the next element of the source wherever the mask holds: how many come before a slice, it does not know, so
/// all is whole. Operands: x, mask, source.
constexpr rule_result masked_scatter(int rank, int mask_rank, int source_rank) {
  if (!is_rank(rank) || !is_rank(source_rank)) return no_rule("masked_scatter", rule_code::too_many_dims, source_rank);
  if (mask_rank < 0 || mask_rank > rank) return no_rule("masked_scatter", rule_code::axes_differ_from_rank, mask_rank);
  factor_rule r = rule_called("masked_scatter", moves_elements(0b101u, partial_mode::together), 0);
  add_factors(r, rank + source_rank);
  set_kind(r, 0, ~0u, factor_kind::need_replication);
  add_dims(add_operand(r), 0, rank);
  add_dims(add_operand(r), rank - mask_rank, mask_rank);
  add_dims(add_operand(r), rank, source_rank);
  add_dims(add_result(r), 0, rank);
  return checked_rule(r);
}

}}}  // namespace hyperparallel::v0_2::rules
