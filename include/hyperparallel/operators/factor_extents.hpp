// SPDX-License-Identifier: Apache-2.0
#pragma once
// Extents of factors: from the operands' shapes to the result's shape and to the work.
//
// Law: a factor has one extent, the same in every operand. Points are the product of all extents; the floating-point
// operations are points times the rule's operations per point, so a contraction costs 2 · ∏ factors.

#include <hyperparallel/operators/factor_rule.hpp>

namespace hyperparallel {

enum class extents_code : unsigned char {
  ok,
  operand_count_differs_from_rule,
  operand_rank_differs_from_rule,
  factor_extents_differ,
  factor_extent_is_fixed,
  work_overflows,
};

/// Fields that the code does not speak of are 0.
struct extents_status {
  extents_code code = extents_code::ok;
  int operand = 0;
  int dim = 0;
  extent_t extent = 0;    ///< what the operand has: the extent of `dim`, its rank, or the number of operands
  extent_t expected = 0;  ///< what the rule or an earlier operand says
  friend constexpr bool operator==(const extents_status&, const extents_status&) = default;
};

struct factor_extents {
  extents_status status{};
  extent_t extent[max_factors] = {};
};

/// The extent of each factor. Domain: a valid rule, extents ≥ 0. Fails naming operand and dim. O(dims).
constexpr factor_extents extents_of(const factor_rule& rule, const shape* operand, int count) {
  factor_extents r;
  if (count != rule.operand_count)
    return {{extents_code::operand_count_differs_from_rule, 0, 0, count, rule.operand_count}, {}};
  for (int f = 0; f < rule.factor_count; ++f) r.extent[f] = rule.factor[f].extent > 0 ? rule.factor[f].extent : -1;
  for (int o = 0; o < count; ++o) {
    const dim_factors& dims = rule.operand[o];
    if (operand[o].rank != dims.rank)
      return {{extents_code::operand_rank_differs_from_rule, o, 0, operand[o].rank, dims.rank}, {}};
    for (int d = 0; d < dims.rank; ++d) {
      const int f = dims.factor[d];
      const extent_t n = operand[o].extent[d];
      if (r.extent[f] < 0) r.extent[f] = n;
      if (r.extent[f] == n) continue;
      const bool fixed = rule.factor[f].extent > 0;
      return {
          {fixed ? extents_code::factor_extent_is_fixed : extents_code::factor_extents_differ, o, d, n, r.extent[f]},
          {}};
    }
  }
  return r;
}

struct result_shape_result {
  extents_status status{};
  hyperparallel::shape shape{};
};

/// Shape of the result, as `extents_of` succeeds or fails. O(dims).
constexpr result_shape_result result_shape(const factor_rule& rule, const shape* operand, int count) {
  const factor_extents e = extents_of(rule, operand, count);
  if (e.status.code != extents_code::ok) return {e.status, {}};
  result_shape_result r;
  r.shape.rank = rule.result.rank;
  for (int d = 0; d < rule.result.rank; ++d) r.shape.extent[d] = e.extent[rule.result.factor[d]];
  return r;
}

struct work_result {
  extents_status status{};
  extent_t flops = 0;
};

/// Floating-point operations over the whole operands (local shapes give one device's). Fails like `extents_of`, or
/// where the count leaves 64 bits. O(dims).
constexpr work_result work_of(const factor_rule& rule, const shape* operand, int count) {
  const factor_extents e = extents_of(rule, operand, count);
  if (e.status.code != extents_code::ok) return {e.status, 0};
  extent_t flops = rule.flops_per_point;
  for (int f = 0; f < rule.factor_count; ++f)
    if (e.extent[f] == 0) return {{}, 0};
  for (int f = 0; f < rule.factor_count; ++f) {
    const checked_extent n = checked_multiply(flops, e.extent[f]);
    if (n.overflow) return {{extents_code::work_overflows, 0, 0, 0, 0}, 0};
    flops = n.value;
  }
  return {{}, flops};
}

}  // namespace hyperparallel
