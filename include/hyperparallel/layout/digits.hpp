// SPDX-License-Identifier: Apache-2.0
#pragma once
// Digits: two layouts of one tensor on one mesh, seen through their common refinement.
//
// Every dim is refined until each digit is wholly one source sub-axis or local in the source, and wholly one target
// sub-axis or local in the target. That is possible iff the cut points form a divisibility chain (always so for powers
// of two). Where it is, one small table says everything about a redistribution; where not, intervals do.
// Law: for every position the digits' values reproduce its source and its target box.

#include <hyperparallel/layout/layout_value.hpp>

namespace hyperparallel {

inline constexpr int max_digits = 2 * max_cuts;

/// A factor of one dim. An owner of -1 means local. The value of an axis-owned digit is coordinate / stride % size.
struct digit {
  int dim = 0;
  int size = 1;
  extent_t inner = 1;  ///< elements of the dim below this digit
  int source_axis = -1, source_stride = 0;
  int target_axis = -1, target_stride = 0;
};

constexpr bool is_kept(const digit& d) { return d.source_axis == d.target_axis && d.source_stride == d.target_stride; }
constexpr bool is_moved(const digit& d) { return d.source_axis >= 0 && d.target_axis >= 0 && !is_kept(d); }
constexpr bool is_gathered(const digit& d) { return d.source_axis >= 0 && d.target_axis < 0; }
constexpr bool is_sliced(const digit& d) { return d.source_axis < 0 && d.target_axis >= 0; }

struct digit_table {
  bool refinable = true;
  int count = 0;
  hyperparallel::digit digit[max_digits] = {};
};

namespace detail {

/// Walks one layout's cuts of one dim, major to minor, giving them away factor by factor.
struct cut_cursor {
  int next = 0;       ///< the following cut
  int axis = -1;      ///< owner of the remaining part, -1 when the dim's cuts are used up
  int remaining = 1;  ///< size of the part not yet given away
  int stride = 0;     ///< stride below the remaining part

  constexpr void load(const layout_value& l, int dim) {
    if (next < l.cut_count && l.cut[next].dim == dim) {
      axis = l.cut[next].axis;
      remaining = l.cut[next].size;
      stride = stride_of(l.mesh, l.cut[next]);
      ++next;
    } else {
      axis = -1;
      remaining = 1;
      stride = 0;
    }
  }
  constexpr void give(const layout_value& l, int dim, int factor) {
    remaining /= factor;
    if (remaining == 1) load(l, dim);
  }
};

}  // namespace detail

/// The refinement of `source` and `target`. Domain: same mesh and rank, both accept `s`. O(cuts).
/// `refinable` is false where cut points do not divide each other, or a padded dim does not divide.
constexpr digit_table refine(const layout_value& source, const layout_value& target, const shape& s) {
  digit_table t;
  detail::cut_cursor from, to;
  for (int d = 0; d < s.rank; ++d) {
    from.load(source, d);
    to.load(target, d);
    extent_t inner = s.extent[d];
    while (from.axis >= 0 || to.axis >= 0) {
      int size = from.axis < 0 ? to.remaining : from.remaining;
      if (from.axis >= 0 && to.axis >= 0) {
        if (to.remaining < size) size = to.remaining;
        if (from.remaining % size != 0 || to.remaining % size != 0) t.refinable = false;
      }
      if (inner % size != 0) t.refinable = false;
      if (!t.refinable) return t;
      inner /= size;
      digit& x = t.digit[t.count++];
      x = {d, size, inner, from.axis, 0, to.axis, 0};
      if (from.axis >= 0) {
        x.source_stride = from.stride * (from.remaining / size);
        from.give(source, d, size);
      }
      if (to.axis >= 0) {
        x.target_stride = to.stride * (to.remaining / size);
        to.give(target, d, size);
      }
    }
  }
  return t;
}

}  // namespace hyperparallel
