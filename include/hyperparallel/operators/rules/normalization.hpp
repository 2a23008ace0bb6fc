// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that read along dims: every device needs those whole, and no partial operand passes.

#include <hyperparallel/operators/rules/attributes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

/// A function of one tensor that reads along the listed dims and keeps the shape.
constexpr rule_result reads_along(const char* name, int rank, const dim_list& dims, const partial_words& words,
                                  int flops) {
  const chosen_dims c = choose(dims, rank);
  if (c.status.code != rule_code::ok) return refused(name, c.status);
  return same_dims(name, rank, c.mask, factor_kind::need_replication, words, flops);
}

/// x of `rank` dims and `weights` operands of its last `normalized` dims, which are whole. Operands that are repeated
/// along the other dims refuse to be partial, so all do.
constexpr rule_result normalize(const char* name, int rank, int normalized, int weights, int flops) {
  if (!is_rank(rank)) return no_rule(name, rule_code::too_many_dims, rank);
  if (normalized < 1 || normalized > rank) return no_rule(name, rule_code::axes_differ_from_rank, normalized);
  if (weights < 0 || weights >= max_operands) return no_rule(name, rule_code::too_many_operands, weights);
  factor_rule r = rule_called(name, refuse_partials(), flops);
  const int leading = rank - normalized;
  add_factors(r, rank);
  for (int f = leading; f < rank; ++f) r.factor[f].kind = factor_kind::need_replication;
  add_dims(add_operand(r), 0, rank);
  for (int w = 0; w < weights; ++w) add_dims(add_operand(r), leading, normalized);
  add_dims(add_result(r), 0, rank);
  return checked_rule(r);
}

/// x / root mean square over the last `normalized` dims, times a weight; the second result is the reciprocal root, with
/// size 1 in these dims.
constexpr rule_result rms_norm(int rank, int normalized = 1, int weights = 1) {
  rule_result r = normalize("rms_norm", rank, normalized, weights, 4);
  if (r.status.code != rule_code::ok) return r;
  tensor_factors& t = add_result(r.rule);
  add_dims(t, 0, rank - normalized);
  for (int d = 0; d < normalized; ++d) add_dim(t);
  return checked_rule(r.rule);
}

}}}  // namespace hyperparallel::v0_2::rules
