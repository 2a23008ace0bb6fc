// SPDX-License-Identifier: Apache-2.0
#pragma once
// A layout of whole axes as one integer: what the type form carries.
//
// The digits read: the rank plus one, then the axis numbers (from 1) of each dim, outermost first, with a 9 between
// dims, and a 0 behind the axes of a padded dim; after a 0, pairs of a partial axis and its reduction, axes ascending.
// 419923 is rank 3, axis 1 on dim 0, nothing on dim 1, axes 2 and 3 on dim 2; 319031 is (axis 1, None) with axis 3
// partial(sum); 31092 is (axis 1, axis 2) with dim 0 padded. No pair begins with 0 or 9. At most 18 digits; a
// layout that needs more has none. Negative digits stand for a refused map: they shard nothing, in as many dims as it
// has, so that no error cascades.
// Laws: equal layouts have equal digits, and equal digits are equal layouts.

#include <hyperparallel/layout/layout_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

inline constexpr int dim_separator = max_axes + 1;
inline constexpr extent_t largest_digits = 999'999'999'999'999'999;

/// The digits of a layout that shards nothing.
constexpr extent_t replicated_digits(int rank) {
  extent_t digits = rank + 1;
  for (int d = 1; d < rank; ++d) digits = digits * 10 + dim_separator;
  return digits;
}

/// The layout that digits describe. O(digits).
constexpr layout_value layout_of_digits(const mesh_shape& m, extent_t digits) {
  layout_value l;
  l.mesh = m;
  if (digits < 0) digits = -digits;
  extent_t power = 1;
  while (digits / power > 9) power *= 10;
  l.rank = static_cast<int>(digits / power) - 1;
  bool sharding = true;
  for (int d = 0; power > 1;) {
    digits %= power;
    power /= 10;
    const int digit = static_cast<int>(digits / power);
    if (!sharding) {
      digits %= power;
      power /= 10;
      l.partial[digit - 1] = static_cast<reduce_op>(digits / power);
    } else if (digit == dim_separator) {
      ++d;
    } else if (digit == 0) {
      const int next = power > 1 ? static_cast<int>(digits % power / (power / 10)) : dim_separator;
      sharding = next == dim_separator || next == 0;
      if (sharding) l.padded |= 1u << d;
    } else {
      l.cut[l.cut_count++] = {d, digit - 1, 1, m.size[digit - 1]};
    }
  }
  return l;
}

/// Inverse of `layout_of_digits`. Domain: whole axes, at most 18 digits. O(dims + cuts + axes).
constexpr extent_t digits_of_layout(const layout_value& l) {
  extent_t digits = l.rank + 1;
  for (int d = 0, i = 0; d < l.rank; ++d) {
    if (d > 0) digits = digits * 10 + dim_separator;
    for (; i < l.cut_count && l.cut[i].dim == d; ++i) digits = digits * 10 + l.cut[i].axis + 1;
    if (is_padded(l, d)) digits *= 10;
  }
  bool first = true;
  for (int a = 0; a < l.mesh.axis_count; ++a) {
    if (l.partial[a] == reduce_op::none) continue;
    if (first) digits *= 10;
    first = false;
    digits = (digits * 10 + a + 1) * 10 + static_cast<int>(l.partial[a]);
  }
  return digits;
}

/// The part of `s` that each device holds under the layout of `digits`, as `local_shape` would say, without building
/// the layout; its rank is -1 where the layout is partial, padded, or does not accept `s`. Domain: the volume of `s`
/// fits 64 bits. O(digits).
constexpr shape divide_by_digits(const mesh_shape& m, extent_t digits, const shape& s) {
  shape r = s;
  int d = s.rank - 1;  // from the last dim backwards, as the digits come
  for (; digits > 9 && d >= 0; digits /= 10) {
    const int digit = static_cast<int>(digits % 10);
    if (digit == dim_separator) {
      --d;
      continue;
    }
    const int pieces =
        digit > 0 ? m.size[digit - 1] : 0;  // 0: not an axis, the digits so far were partial axes or mark a padded dim
    if (pieces == 0 || r.extent[d] % pieces != 0) break;
    r.extent[d] /= pieces;
  }
  if (digits != s.rank + 1) r.rank = -1;
  return r;
}

}}}  // namespace hyperparallel::v0_2::detail
