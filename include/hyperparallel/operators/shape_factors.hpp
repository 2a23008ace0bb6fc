// SPDX-License-Identifier: Apache-2.0
#pragma once
// Factors of a reshape: the common refinement of two shapes, as far as there is one.
//
// Both shapes are cut at their cumulative products, [8, 4] and [2, 16] at 2, 8 and 32: that gives the factors 2, 4, 4,
// of which every dim runs over some. Where the products of a stretch do not divide each other, as in [6, 4] and [4, 6],
// the stretch still has factors in common at both ends, here 2 and 2. They are shared; the middle, 3 · 2 on one side
// and 2 · 3 on the other, is whole on every device.
// Law: the local reshape of a device's slice is its slice of the reshaped tensor, for every layout that propagation
// accepts; a layout that it refuses has no image among the layouts of the other shape.
// Compare refinement.hpp, which moves elements where this can not.

#include <hyperparallel/operators/factor_rule.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

struct inferred_shape {
  rule_status status{};
  hyperparallel::shape shape{};
};

/// `to` with its one extent of -1 replaced by what is left of `from`. Fails on another negative extent, on a second
/// -1, and where the element counts can not be equal, naming the dim of `to` (its rank, for the whole). O(dims).
constexpr inferred_shape infer_extents(const shape& from, const shape& to) {
  int unknown = -1;
  shape known = to;
  for (int d = 0; d < to.rank; ++d) {
    if (to.extent[d] >= 0) continue;
    if (to.extent[d] != -1 || unknown >= 0) return {{rule_code::attribute_is_invalid, d}, to};
    unknown = d;
    known.extent[d] = 1;
  }
  const checked_extent given = element_count(from), rest = element_count(known);
  const int blamed = unknown < 0 ? to.rank : unknown;
  if (given.overflow || rest.overflow) return {{rule_code::sizes_do_not_fit, blamed}, to};
  if (unknown >= 0) {
    if (rest.value == 0 || given.value % rest.value != 0) return {{rule_code::sizes_do_not_fit, blamed}, to};
    known.extent[unknown] = given.value / rest.value;
  } else if (given.value != rest.value) {
    return {{rule_code::sizes_do_not_fit, blamed}, to};
  }
  return {{}, known};
}

/// One side of a reshape: what of each dim is not shared yet, and how many of its factors are, at its major and its
/// minor end.
struct shape_side {
  shape whole{};
  extent_t rest[max_dims] = {};
  int major[max_dims] = {};
  int minor[max_dims] = {};
};

constexpr shape_side unshared(const shape& s) {
  shape_side r;
  r.whole = s;
  for (int d = 0; d < s.rank; ++d) r.rest[d] = s.extent[d];
  return r;
}

/// Factors of a stretch in the order in which they were found: from its major end or from its minor one.
struct shared_factors {
  int count = 0;
  extent_t extent[2 * max_dims] = {};
};

/// Shares factors of the dims [a0, a1) and [b0, b1), from one end, until two dims that meet have none in common.
constexpr shared_factors share(shape_side& a, int a0, int a1, shape_side& b, int b0, int b1, bool from_major) {
  shared_factors r;
  const int step = from_major ? 1 : -1;
  int i = from_major ? a0 : a1 - 1, j = from_major ? b0 : b1 - 1;
  while (true) {
    while (i >= a0 && i < a1 && a.rest[i] == 1) i += step;
    while (j >= b0 && j < b1 && b.rest[j] == 1) j += step;
    if (i < a0 || i == a1 || j < b0 || j == b1) return r;
    const extent_t common = greatest_common_divisor(a.rest[i], b.rest[j]);
    if (common == 1) return r;
    a.rest[i] = a.rest[i] == common ? 1 : a.rest[i] / common;  // also where both are 0
    b.rest[j] = b.rest[j] == common ? 1 : b.rest[j] / common;
    ++(from_major ? a.major : a.minor)[i];
    ++(from_major ? b.major : b.minor)[j];
    r.extent[r.count++] = common;
  }
}

/// Appends the dims [begin, end) of one side. Factors shared at the major end are `major` and on, at the minor `minor`.
constexpr void write_dims(factor_rule& r, tensor_factors& t, const shape_side& s, int begin, int end, int major,
                          int minor) {
  for (int d = begin; d < end; ++d) {
    add_dim(t);
    for (int k = 0; k < s.major[d]; ++k) extend_dim(t, major++);
    const bool all_shared = s.major[d] + s.minor[d] > 0 && s.rest[d] == 1;
    if (!all_shared) extend_dim(t, add_factor(r, factor_kind::need_replication, s.rest[d]));
    for (int k = 0; k < s.minor[d]; ++k) extend_dim(t, minor++);
  }
}

/// Whether every dim runs over one factor.
constexpr bool is_plain(const tensor_factors& t) {
  for (int d = 0; d < t.rank; ++d)
    if (t.first[d + 1] - t.first[d] != 1) return false;
  return true;
}

}  // namespace detail

namespace rules {

/// The reshape of `from` to `to`, in which one extent may be -1. Every partial state passes. Fails as `infer_extents`
/// does, and where the refinement has more factors than a rule holds. A shape without elements keeps as many extents
/// of 0 as both sides have; a further one of `to` is not told by `result_shape`. O(dims · log extent).
constexpr rule_result reshape(const shape& from, const shape& to) {
  const hyperparallel::detail::inferred_shape target = hyperparallel::detail::infer_extents(from, to);
  if (target.status.code != rule_code::ok) return no_rule("reshape", target.status.code, target.status.where);
  factor_rule r;
  r.name = short_text("reshape");
  r.partials = moves_elements(0b1u);
  tensor_factors& operand = add_operand(r);
  tensor_factors& result = add_result(r);
  detail::shape_side a = detail::unshared(from), b = detail::unshared(target.shape);
  const bool empty = element_count(from).value == 0;
  for (int a0 = 0, b0 = 0; a0 < from.rank || b0 < b.whole.rank;) {
    int a1 = a0, b1 = b0;  // the next stretch of equal products
    extent_t left = 1, right = 1;
    do {
      if (b1 == b.whole.rank || (a1 < from.rank && left <= right))
        left *= a.whole.extent[a1++];
      else
        right *= b.whole.extent[b1++];
      if (empty) {
        a1 = from.rank;
        b1 = b.whole.rank;
        break;
      }
    } while (left != right);
    const detail::shared_factors major = detail::share(a, a0, a1, b, b0, b1, true);
    const detail::shared_factors minor = detail::share(a, a0, a1, b, b0, b1, false);
    const int first = r.factor_count;
    for (int k = 0; k < major.count; ++k) add_factor(r, factor_kind::pass_through, major.extent[k]);
    for (int k = minor.count - 1; k >= 0; --k) add_factor(r, factor_kind::pass_through, minor.extent[k]);
    const int middle = first + major.count;
    detail::write_dims(r, operand, a, a0, a1, first, middle);
    detail::write_dims(r, result, b, b0, b1, first, middle);
    a0 = a1;
    b0 = b1;
  }
  operand.plain = detail::is_plain(operand);
  result.plain = detail::is_plain(result);
  return checked_rule(r);
}

}  // namespace rules

}}  // namespace hyperparallel::v0_2
