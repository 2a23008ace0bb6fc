// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions over dims.
//
// An axis that shards a reduced dim leaves the result partial by the reduction. Where no such form exists (a variance,
// the index of a maximum, which the reduction of indices would not find) the dim must be whole.

#include <hyperparallel/operators/rules/attributes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

namespace parts {

/// Partial operands that the reduction lets pass: it is a reduction over one more factor.
constexpr partial_words words_of_reduction(reduce_op op) {
  if (op == reduce_op::sum || op == reduce_op::avg) return linear_in_each(0b1u);
  partial_words w = refuse_partials();
  if (op != reduce_op::none) say(w, 0, op, partial_mode::each, op);
  return w;
}

/// A result of the operand's dims without those of `reduced`, which stay with size 1 where `keep`.
constexpr void add_remaining(factor_rule& r, int rank, unsigned reduced, bool keep) {
  tensor_factors& t = add_result(r);
  for (int d = 0; d < rank; ++d) {
    if (!has(reduced, d))
      add_dim(t, d);
    else if (keep)
      add_dim(t);
  }
}

}  // namespace parts

/// Reduces `dims` (all, where none is listed) by `op`; with `none` they must be whole. Fails with axis_is_out_of_range,
/// axes_repeat, too_many_dims.
constexpr rule_result reduce(const char* name, int rank, const dim_list& dims, bool keep, reduce_op op) {
  const chosen_dims c = choose(dims.count == 0 ? all_dims(rank) : dims, rank);
  if (c.status.code != rule_code::ok) return refused(name, c.status);
  factor_rule r = rule_called(name, parts::words_of_reduction(op), 1);
  for (int d = 0; d < rank; ++d) {
    if (!has(c.mask, d))
      add_factor(r);
    else if (op == reduce_op::none)
      add_whole(r);
    else
      add_factor(r, factor_kind::reduction, 0, op);
  }
  add_dims(add_operand(r), 0, rank);
  parts::add_remaining(r, rank, c.mask, keep);
  return checked_rule(r);
}

/// The same by its own name; by `avg` it is the mean.
constexpr rule_result reduce(reduce_op op, int rank, const dim_list& dims = {}, bool keep = false) {
  return reduce(op == reduce_op::avg ? "mean" : name_of(op), rank, dims, keep, op);
}

/// Largest or smallest values along one dim and where they are: two results.
constexpr rule_result indexed_reduction(const char* name, int rank, int dim, bool keep = false) {
  const chosen_dims c = choose(dim, rank);
  if (c.status.code != rule_code::ok) return refused(name, c.status);
  factor_rule r = rule_called(name, refuse_partials(), 1);
  add_factors(r, rank);
  set_kind(r, 0, c.mask, factor_kind::need_replication);
  add_dims(add_operand(r), 0, rank);
  parts::add_remaining(r, rank, c.mask, keep);
  parts::add_remaining(r, rank, c.mask, keep);
  return checked_rule(r);
}

}}}  // namespace hyperparallel::v0_2::rules
