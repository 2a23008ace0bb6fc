// SPDX-License-Identifier: Apache-2.0
#pragma once
// `extents<8, dyn, 7168>`: a tensor's extents as a type, some of them known only at run time.
//
//   hp::extents<8, 4096>           all known; whether a layout divides them is decided by the compiler
//   hp::extents<hp::dyn, 4096>     the first is checked when a tensor is made
//   hp::extents<hp::dyn(16), 64>   the first is some multiple of 16: divisibility is proved by the compiler, the
//                                  multiple is checked when a tensor is made
//
// As a number a dynamic extent is minus its multiple. Law: the extents of a result are those of its factors, known
// where an operand knows them.

#include <hyperparallel/layout/shape.hpp>
#include <hyperparallel/operators/factor_extents.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct dynamic_extent {
  constexpr operator extent_t() const { return -1; }
  /// Domain: multiple > 0.
  constexpr extent_t operator()(extent_t multiple) const { return -multiple; }
};
inline constexpr dynamic_extent dyn{};

namespace detail {

constexpr bool is_dynamic(extent_t extent) { return extent < 0; }

/// Whether every extent is known.
constexpr bool is_static(const shape& s) {
  for (int d = 0; d < s.rank; ++d)
    if (is_dynamic(s.extent[d])) return false;
  return true;
}

}  // namespace detail

/// Whether `actual` is of the extents that `declared` describes. O(dims).
constexpr bool matches(const shape& declared, const shape& actual) {
  if (declared.rank != actual.rank) return false;
  for (int d = 0; d < declared.rank; ++d) {
    const extent_t e = declared.extent[d], n = actual.extent[d];
    if (detail::is_dynamic(e) ? n < 0 || n % -e != 0 : n != e) return false;
  }
  return true;
}

template <extent_t... Extents>
struct extents {
  static_assert(sizeof...(Extents) <= max_dims, "a tensor has at most 8 dims");
  static constexpr int rank = static_cast<int>(sizeof...(Extents));
  static constexpr hyperparallel::shape declared{Extents...};
  static constexpr bool is_static = ((Extents >= 0) && ...);
};
template <>
struct extents<> {
  static constexpr int rank = 0;
  static constexpr hyperparallel::shape declared{};
  static constexpr bool is_static = true;
};

namespace detail {

/// The extents of what is refused for its sizes: none is known, and nothing that takes them on is asked.
template <int Rank, class = typename make_indices<Rank>::type>
struct refused_extents;
template <int Rank, int... I>
struct refused_extents<Rank, indices<I...>> : extents<(I < 0 ? 0 : extent_t{dyn})...> {};

template <class Extents>
inline constexpr bool is_refused_extents = false;
template <int Rank>
inline constexpr bool is_refused_extents<refused_extents<Rank>> = true;

/// What is known of factors from dims of static extents, then the multiples that dynamic dims promise. An unknown
/// factor is minus its multiple.
struct factor_knowledge {
  extents_status status{};
  extent_t extent[max_factors] = {};
};

constexpr extent_t common_multiple(extent_t a, extent_t b) { return a / greatest_common_divisor(a, b) * b; }

constexpr void learn_multiple(const tensor_factors& t, int d, extent_t multiple, extent_t* extent) {
  extent_t known = 1;
  int unknown = -1;
  for (int i = t.first[d]; i < t.first[d + 1]; ++i) {
    if (extent[t.term[i]] >= 0)
      known *= extent[t.term[i]];
    else if (unknown < 0)
      unknown = t.term[i];
    else
      return;
  }
  if (unknown >= 0 && known > 0 && multiple % known == 0)
    extent[unknown] = -common_multiple(-extent[unknown], multiple / known);
}

constexpr factor_knowledge know_factors(const factor_rule& rule, const shape* operand, int count) {
  factor_knowledge k;
  if (count != rule.operand_count) {
    k.status = {extents_code::operand_count_differs_from_rule, 0, 0, count, rule.operand_count};
    return k;
  }
  for (int f = 0; f < rule.factor_count; ++f) k.extent[f] = rule.factor[f].extent != 0 ? rule.factor[f].extent : -1;
  for (int dynamic = 0; dynamic < 2; ++dynamic)
    for (int o = 0; o < count; ++o) {
      const tensor_factors& t = rule.operand[o];
      if (operand[o].rank != t.rank) {
        k.status = {extents_code::operand_rank_differs_from_rule, o, 0, operand[o].rank, t.rank};
        return k;
      }
      for (int d = 0; d < t.rank; ++d) {
        const extent_t n = operand[o].extent[d];
        if (is_dynamic(n) != (dynamic == 1)) continue;
        if (dynamic == 1) {
          if (t.extent[d] == 0) learn_multiple(t, d, -n, k.extent);
          continue;
        }
        k.status = read_dim(rule, t, o, d, n, k.extent);
        if (k.status.code != extents_code::ok) return k;
      }
    }
  return k;
}

/// The declared extents of result `index`: `result_shape` for operands some of whose extents are dynamic, and for a rule
/// that creates factors of dynamic extents, written as those of dims. O(terms).
constexpr result_shape_result result_extents(const factor_rule& rule, const shape* operand, int count, int index = 0) {
  bool all_known = true;
  for (int o = 0; o < count; ++o) all_known = all_known && is_static(operand[o]);
  for (int f = 0; f < rule.factor_count; ++f) all_known = all_known && !is_dynamic(rule.factor[f].extent);
  if (all_known) return result_shape(rule, operand, count, index);
  const detail::factor_knowledge k = detail::know_factors(rule, operand, count);
  if (k.status.code != extents_code::ok) return {k.status, {}};
  const tensor_factors& t = rule.result[index];
  result_shape_result r;
  r.shape.rank = t.rank;
  for (int d = 0; d < t.rank; ++d) {
    extent_t n = t.extent[d] != 0 ? t.extent[d] : 1;
    bool dynamic = false;
    for (int i = t.first[d]; t.extent[d] == 0 && i < t.first[d + 1]; ++i) {
      const extent_t e = k.extent[t.term[i]];
      dynamic = dynamic || is_dynamic(e);
      n *= is_dynamic(e) ? -e : e;
    }
    r.shape.extent[d] = dynamic && n != 0 ? -n : n;
  }
  return r;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
