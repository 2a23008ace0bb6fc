// SPDX-License-Identifier: Apache-2.0
#pragma once
// Extents of factors: from the operands' shapes to the result's shape and to the work.
//
// Law: a factor has one extent, the same in every operand. Points are the product of all extents; the floating-point
// operations are points times the rule's operations per point, so a contraction costs 2 · ∏ factors.

#include <hyperparallel/operators/factor_rule.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class extents_code : unsigned char {
  ok,
  operand_count_differs_from_rule,
  operand_rank_differs_from_rule,
  factor_extents_differ,
  factor_extent_is_fixed,
  dim_extent_is_fixed,
  dim_has_two_unknown_factors,
  factor_extent_is_not_known,
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

namespace detail {

/// Whether operands have sizes that no layout could make fit: refusals name these before they name layouts.
constexpr bool sizes_disagree(extents_code c) {
  return c == extents_code::factor_extents_differ || c == extents_code::factor_extent_is_fixed ||
         c == extents_code::dim_extent_is_fixed;
}

}  // namespace detail

struct factor_extents {
  extents_status status{};
  extent_t extent[max_factors] = {};
};

namespace detail {

/// Learns the one factor of a dim that is not known yet from the dim's extent `n`, or holds the product against it.
constexpr extents_status read_dim(const factor_rule& rule, const tensor_factors& t, int o, int d, extent_t n,
                                  extent_t* extent) {
  if (t.extent[d] != 0)
    return t.extent[d] == n ? extents_status{}
                            : extents_status{extents_code::dim_extent_is_fixed, o, d, n, t.extent[d]};
  extent_t known = 1;
  int unknown = -1;
  for (int i = t.first[d]; i < t.first[d + 1]; ++i) {
    const int f = t.term[i];
    if (extent[f] >= 0)
      known *= extent[f];
    else if (unknown < 0)
      unknown = f;
    else
      return {extents_code::dim_has_two_unknown_factors, o, d, n, 0};
  }
  if (unknown >= 0 && known == 0 && n == 0) return {};  // any extent fits
  if (unknown >= 0 && known != 0 && n % known == 0) {
    extent[unknown] = n / known;
    return {};
  }
  if (unknown < 0 && known == n) return {};
  const bool fixed = t.first[d] == t.first[d + 1] || rule.factor[t.term[t.first[d]]].extent > 0;
  return {fixed ? extents_code::factor_extent_is_fixed : extents_code::factor_extents_differ, o, d, n, known};
}

}  // namespace detail

/// The extent of each factor, -1 where no operand and not the rule tells it. Domain: a valid rule, extents ≥ 0. Fails
/// naming operand and dim. O(terms), and once more for each dim of several factors that a later operand tells.
constexpr factor_extents extents_of(const factor_rule& rule, const shape* operand, int count) {
  factor_extents r;
  if (count != rule.operand_count)
    return {{extents_code::operand_count_differs_from_rule, 0, 0, count, rule.operand_count}, {}};
  for (int f = 0; f < rule.factor_count; ++f) r.extent[f] = rule.factor[f].extent > 0 ? rule.factor[f].extent : -1;
  extents_status first_waiting;
  int waiting = 0, before = 0;
  do {
    before = waiting;
    waiting = 0;
    for (int o = 0; o < count; ++o) {
      const tensor_factors& t = rule.operand[o];
      if (operand[o].rank != t.rank)
        return {{extents_code::operand_rank_differs_from_rule, o, 0, operand[o].rank, t.rank}, {}};
      for (int d = 0; d < t.rank; ++d) {
        const extent_t n = operand[o].extent[d];
        if (t.plain && t.extent[d] == 0 && (r.extent[t.term[d]] < 0 || r.extent[t.term[d]] == n)) {
          r.extent[t.term[d]] = n;
          continue;
        }
        const extents_status s = detail::read_dim(rule, t, o, d, n, r.extent);
        if (s.code == extents_code::ok) continue;
        if (s.code != extents_code::dim_has_two_unknown_factors) return {s, {}};
        if (waiting++ == 0) first_waiting = s;
      }
    }
  } while (waiting > 0 && waiting != before);
  if (waiting > 0) return {first_waiting, {}};
  return r;
}

struct result_shape_result {
  extents_status status{};
  hyperparallel::shape shape{};
};

/// Shape of result `index`. Fails like `extents_of`, or where nothing tells the extent of a factor that the operator
/// creates. O(terms).
constexpr result_shape_result result_shape(const factor_rule& rule, const shape* operand, int count, int index = 0) {
  const factor_extents e = extents_of(rule, operand, count);
  if (e.status.code != extents_code::ok) return {e.status, {}};
  const tensor_factors& t = rule.result[index];
  result_shape_result r;
  r.shape.rank = t.rank;
  for (int d = 0; d < t.rank; ++d) {
    extent_t n = t.extent[d] != 0 ? t.extent[d] : 1;
    for (int i = t.first[d]; t.extent[d] == 0 && i < t.first[d + 1]; ++i) {
      if (e.extent[t.term[i]] < 0) return {{extents_code::factor_extent_is_not_known, count + index, d, 0, 0}, {}};
      n *= e.extent[t.term[i]];
    }
    r.shape.extent[d] = n;
  }
  return r;
}

struct work_result {
  extents_status status{};
  extent_t flops = 0;
};

/// Floating-point operations over the whole operands (local shapes give one device's). Fails like `extents_of`, or
/// where the count leaves 64 bits. O(terms).
constexpr work_result work_of(const factor_rule& rule, const shape* operand, int count) {
  const factor_extents e = extents_of(rule, operand, count);
  if (e.status.code != extents_code::ok) return {e.status, 0};
  extent_t flops = rule.flops_per_point;
  for (int f = 0; f < rule.factor_count; ++f)
    if (e.extent[f] == 0) return {{}, 0};
  for (int f = 0; f < rule.factor_count; ++f) {
    if (e.extent[f] < 0) return {{extents_code::factor_extent_is_not_known, 0, 0, 0, 0}, 0};
    const checked_extent n = checked_multiply(flops, e.extent[f]);
    if (n.overflow) return {{extents_code::work_overflows, 0, 0, 0, 0}, 0};
    flops = n.value;
  }
  return {{}, flops};
}

}}  // namespace hyperparallel::v0_2
