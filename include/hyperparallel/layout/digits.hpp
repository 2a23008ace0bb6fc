// SPDX-License-Identifier: Apache-2.0
#pragma once
// Digits: two layouts of one tensor on one mesh, seen through their common refinement.
//
// Every dim is refined until each digit is wholly one source sub-axis or local in the source, and wholly one target
// sub-axis or local in the target. That is possible iff the cut points form a divisibility chain (always so for powers
// of two). Where it is, one small table says everything about a redistribution; where not, intervals do.
// Law: for every position the digits' values reproduce its source and its target box.

#include <hyperparallel/layout/layout_value.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr int max_digits = 2 * max_cuts;

/// A factor of one dim. An owner of -1 means local. The value of an axis-owned digit is coordinate / stride % size.
struct digit {
  int dim;
  int size;
  extent_t inner;  ///< elements of the dim below this digit
  int source_axis, source_stride;
  int target_axis, target_stride;
};

namespace detail {

constexpr axis_part source_part(const digit& d) { return {d.source_axis, d.source_stride, d.size}; }
constexpr axis_part target_part(const digit& d) { return {d.target_axis, d.target_stride, d.size}; }

}  // namespace detail

constexpr bool is_kept(const digit& d) { return d.source_axis == d.target_axis && d.source_stride == d.target_stride; }
namespace detail {

constexpr bool is_moved(const digit& d) { return d.source_axis >= 0 && d.target_axis >= 0 && !is_kept(d); }

}  // namespace detail
constexpr bool is_gathered(const digit& d) { return d.source_axis >= 0 && d.target_axis < 0; }
constexpr bool is_sliced(const digit& d) { return d.source_axis < 0 && d.target_axis >= 0; }

/// The cuts of a layout by dim: worked out once for all pairs that the layout is in.
struct cuts_by_dim {
  extent_t pieces[max_dims] = {};
  int first[max_dims] = {};  ///< index of the dim's first cut, where it has one
  unsigned axes = 0;         ///< bit a: axis a shards some dim
};

namespace detail {

/// O(dims + cuts).
constexpr cuts_by_dim index_cuts(const layout_value& l) {
  cuts_by_dim c;
  int i = 0;
  for (int d = 0; d < l.rank; ++d) {
    c.first[d] = i;
    c.pieces[d] = 1;
    for (; i < l.cut_count && l.cut[i].dim == d; ++i) {
      c.pieces[d] *= l.cut[i].size;
      c.axes |= 1u << l.cut[i].axis;
    }
  }
  return c;
}

}  // namespace detail

/// What the digits of a pair amount to.
struct digit_figures {
  bool refinable = true;
  bool moved = false;       ///< some digit moves between axes
  bool sliced = false;      ///< some digit is local in the source and an axis in the target
  extent_t gathered = 1;    ///< product of the digits that are an axis in the source and local in the target
  unsigned moved_into = 0;  ///< bit u: some digit, whole axis or not, moves into axis u
  unsigned movers = 0;      ///< bit u: `moved_from[u]` is set
  /// Axis u -> the axis whose whole value a target coordinate u is in the source.
  int moved_from[max_axes] = {};
};

namespace detail {

/// The figures without the digits. Domain: same mesh and rank, both accept `s`. O(dims + cuts).
/// Both sides cut a dim from its major end, so what they share is the lesser number of pieces, and the other side's
/// rest is gathered or sliced whatever its cuts; only the shared part is walked. Written without calls and with few
/// declarations, because this is the price of every plan.
constexpr digit_figures compare_cuts(const layout_value& source, const cuts_by_dim& held, const layout_value& target,
                                     const cuts_by_dim& wanted, const shape& s) {
  digit_figures f;
  for (int d = 0; d < s.rank; ++d) {
    const extent_t from = held.pieces[d], to = wanted.pieces[d], shared = from < to ? from : to;
    if (from > to)
      f.gathered *= from / to;
    else if (from < to)
      f.sliced = true;
    if (shared == 1) continue;
    int i = held.first[d], j = wanted.first[d], source_left = 1, target_left = 1;
    for (extent_t done = 1; done < shared;) {
      const cut &x = source.cut[i], &y = target.cut[j];
      if (source_left == 1) source_left = x.size;
      if (target_left == 1) target_left = y.size;
      const int size = source_left < target_left ? source_left : target_left;
      if (source_left % size != 0 || target_left % size != 0) {
        f.refinable = false;
        return f;
      }
      done *= size;
      source_left /= size;
      target_left /= size;
      if (x.axis != y.axis || extent_t{x.pre} * x.size * target_left != extent_t{y.pre} * y.size * source_left) {
        f.moved = true;
        f.moved_into |= 1u << y.axis;
        if (size == source.mesh.size[x.axis] && size == source.mesh.size[y.axis]) {
          f.moved_from[y.axis] = x.axis;
          f.movers |= 1u << y.axis;
        }
      }
      if (source_left == 1) ++i;
      if (target_left == 1) ++j;
    }
  }
  if ((source.padded | target.padded) != 0)
    for (int d = 0; d < s.rank; ++d)
      if (s.extent[d] % larger(held.pieces[d], wanted.pieces[d]) != 0) f.refinable = false;
  return f;
}

}  // namespace detail

struct digit_table : digit_figures {
  int count = 0;
  hyperparallel::digit digit[max_digits] = {};
};

/// The digits of a pair whose figures are known. No digits where `known` is not refinable. O(cuts).
/// Each side gives its cuts of a dim away factor by factor, major to minor.
constexpr digit_table refine(const digit_figures& known, const layout_value& source, const layout_value& target,
                             const shape& s) {
  digit_table t{known};
  if (!t.refinable) return t;
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
      if (source_axis < 0 && target_axis < 0) break;
      const int size = source_axis < 0 || (target_axis >= 0 && target_left < source_left) ? target_left : source_left;
      if (source_axis >= 0) {
        source_left /= size;
        source_stride /= size;
      }
      if (target_axis >= 0) {
        target_left /= size;
        target_stride /= size;
      }
      inner /= size;
      t.digit[t.count++] = {d, size, inner, source_axis, source_stride, target_axis, target_stride};
    }
  }
  return t;
}

/// The refinement of `source` and `target`. Domain: same mesh and rank, both accept `s`. O(cuts).
/// `refinable` is false, and there are no digits, where cut points do not divide each other or a padded dim does not.
constexpr digit_table refine(const layout_value& source, const layout_value& target, const shape& s) {
  return refine(detail::compare_cuts(source, detail::index_cuts(source), target, detail::index_cuts(target), s), source,
                target, s);
}

/// Whether the parts of each axis that digits take nest, those of the source in those of the target too. Where they do
/// not, a digit cannot be set without touching others, so layouts between source and target do not exist; boxes tell
/// all the same. O(digits²).
constexpr bool digits_nest(const digit* list, int count) {
  for (int i = 0; i < count; ++i) {
    const digit x = list[i];
    for (int j = 0; j <= i; ++j) {
      const digit y = list[j];
      if (x.source_axis >= 0 && x.source_axis == y.target_axis && !nest(detail::source_part(x), detail::target_part(y)))
        return false;
      if (j == i) break;
      if (y.source_axis >= 0 && y.source_axis == x.target_axis && !nest(detail::source_part(y), detail::target_part(x)))
        return false;
      if (x.source_axis >= 0 && x.source_axis == y.source_axis && !nest(detail::source_part(x), detail::source_part(y)))
        return false;
      if (x.target_axis >= 0 && x.target_axis == y.target_axis && !nest(detail::target_part(x), detail::target_part(y)))
        return false;
    }
  }
  return true;
}

}}  // namespace hyperparallel::v0_2
