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
  int dim;
  int size;
  extent_t inner;  ///< elements of the dim below this digit
  int source_axis, source_stride;
  int target_axis, target_stride;
};

constexpr bool is_kept(const digit& d) { return d.source_axis == d.target_axis && d.source_stride == d.target_stride; }
constexpr bool is_moved(const digit& d) { return d.source_axis >= 0 && d.target_axis >= 0 && !is_kept(d); }
constexpr bool is_gathered(const digit& d) { return d.source_axis >= 0 && d.target_axis < 0; }
constexpr bool is_sliced(const digit& d) { return d.source_axis < 0 && d.target_axis >= 0; }

struct digit_table {
  bool refinable = true;
  bool moved = false;     ///< some digit moves between axes
  bool sliced = false;    ///< some digit is local in the source and an axis in the target
  extent_t gathered = 1;  ///< product of the digits that are an axis in the source and local in the target
  unsigned sources = 0;   ///< bit a: axis a shards the source
  /// Axis u -> one more than the axis whose whole value a target coordinate u is in the source; 0 where there is none.
  int moved_from[max_axes] = {};
  int count = 0;
  hyperparallel::digit digit[max_digits] = {};
};

/// The refinement of `source` and `target`. Domain: same mesh and rank, both accept `s`. O(cuts).
/// `refinable` is false where cut points do not divide each other, or a padded dim does not divide.
/// Each side gives its cuts of a dim away factor by factor, major to minor; written without calls, see `read_map`.
constexpr digit_table refine(const layout_value& source, const layout_value& target, const shape& s) {
  digit_table t;
  int next_source = 0, next_target = 0;
  for (int d = 0; d < s.rank; ++d) {
    extent_t inner = s.extent[d];
    int source_axis = -1, source_left = 1, source_stride = 0;  // the part of a cut that is not yet given away
    int target_axis = -1, target_left = 1, target_stride = 0;
    for (;;) {
      if (source_left == 1) {
        source_axis = -1;
        source_stride = 0;
        if (next_source < source.cut_count && source.cut[next_source].dim == d) {
          const cut c = source.cut[next_source++];
          source_axis = c.axis;
          t.sources |= 1u << c.axis;
          source_left = c.size;
          source_stride = source.mesh.size[c.axis] / c.pre;
        }
      }
      if (target_left == 1) {
        target_axis = -1;
        target_stride = 0;
        if (next_target < target.cut_count && target.cut[next_target].dim == d) {
          const cut c = target.cut[next_target++];
          target_axis = c.axis;
          target_left = c.size;
          target_stride = target.mesh.size[c.axis] / c.pre;
        }
      }
      int size = source_left;
      if (source_axis < 0) {
        if (target_axis < 0) break;
        size = target_left;
        t.sliced = true;
        target_stride /= size;
        target_left = 1;
      } else if (target_axis < 0) {
        t.gathered *= size;
        source_stride /= size;
        source_left = 1;
      } else {
        if (target_left < size) size = target_left;
        if (source_left % size != 0 || target_left % size != 0) {
          t.refinable = false;
          return t;
        }
        source_left /= size;
        source_stride /= size;
        target_left /= size;
        target_stride /= size;
        if (source_axis != target_axis || source_stride != target_stride) {
          t.moved = true;
          if (size == source.mesh.size[source_axis] && size == source.mesh.size[target_axis])
            t.moved_from[target_axis] = source_axis + 1;
        }
      }
      if (inner % size != 0) {
        t.refinable = false;
        return t;
      }
      inner /= size;
      t.digit[t.count++] = {d, size, inner, source_axis, source_stride, target_axis, target_stride};
    }
  }
  return t;
}

}  // namespace hyperparallel
