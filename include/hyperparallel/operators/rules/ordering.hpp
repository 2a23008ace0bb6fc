// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of the order of elements along a dim: running sums, sorting, the largest ones. The dim is whole.

#include <hyperparallel/operators/rules/normalization.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

/// Running sums: linear.
constexpr rule_result cumsum(int rank, int dim) { return reads_along("cumsum", rank, dim, linear_in_each(0b1u), 1); }

/// Running products of products.
constexpr rule_result cumprod(int rank, int dim) {
  partial_words w = refuse_partials();
  say(w, 0, reduce_op::prod, partial_mode::each, reduce_op::prod);
  return reads_along("cumprod", rank, dim, w, 1);
}

/// Sorted elements and where each was: two results.
constexpr rule_result sort(int rank, int dim = -1) {
  rule_result r = reads_along("sort", rank, dim, refuse_partials(), 0);
  if (r.status.code != rule_code::ok) return r;
  add_result(r.rule) = r.rule.result[0];
  return checked_rule(r.rule);
}

/// Only where each was.
constexpr rule_result argsort(int rank, int dim = -1) {
  return reads_along("argsort", rank, dim, refuse_partials(), 0);
}

/// The `count` largest or smallest along `dim` and where they were: two results. Fails with attribute_is_invalid where
/// count < 1.
constexpr rule_result topk(int rank, int dim, extent_t count) {
  const chosen_dims c = choose(dim, rank);
  if (c.status.code != rule_code::ok) return refused("topk", c.status);
  if (count < 1) return no_rule("topk", rule_code::attribute_is_invalid);
  factor_rule r = rule_called("topk", refuse_partials(), 0);
  add_factors(r, rank);
  set_kind(r, 0, c.mask, factor_kind::need_replication);
  const int largest = add_whole(r, count);
  add_dims(add_operand(r), 0, rank);
  for (int result = 0; result < 2; ++result) {
    tensor_factors& t = add_result(r);
    for (int d = 0; d < rank; ++d) add_dim(t, has(c.mask, d) ? largest : d);
  }
  return checked_rule(r);
}

}}}  // namespace hyperparallel::v0_2::rules
