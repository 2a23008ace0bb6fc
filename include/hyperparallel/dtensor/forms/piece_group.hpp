// SPDX-License-Identifier: Apache-2.0
#pragma once
// The devices that together hold a row of a dim that is sharded, and layouts with and without the cuts of such dims.
//
// Laws: the members of a group differ in the digits of the group's cuts alone, so sub-axes make groups as whole axes
// do; the groups partition the mesh; member i holds piece i, pieces counted row-major over the cuts.

#include <hyperparallel/layout/layout_value.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace distributed {

struct piece_group {
  mesh_shape mesh{};
  int cut_count = 0;
  hyperparallel::cut cut[max_cuts] = {};
  int size = 1;  ///< members
};

/// The group over the cuts of the dims in `dims`. O(cuts).
constexpr piece_group group_over(const layout_value& l, unsigned dims) {
  piece_group g;
  g.mesh = l.mesh;
  for (int i = 0; i < l.cut_count; ++i) {
    if ((dims >> l.cut[i].dim & 1u) == 0) continue;
    g.cut[g.cut_count++] = l.cut[i];
    g.size *= l.cut[i].size;
  }
  return g;
}

namespace detail {

/// Which piece a position holds. O(axes + cuts).
constexpr int piece_of(const piece_group& g, int position) {
  const coordinate c = coordinates_of(g.mesh, position);
  int piece = 0;
  for (int i = 0; i < g.cut_count; ++i) piece = piece * g.cut[i].size + digit_of(g.mesh, g.cut[i], c.at[g.cut[i].axis]);
  return piece;
}

/// The member of the position's group that holds `piece`. Domain: 0 ≤ piece < size. O(axes + cuts).
constexpr int member_of(const piece_group& g, int position, int piece) {
  coordinate c = coordinates_of(g.mesh, position);
  for (int i = g.cut_count - 1; i >= 0; --i) {
    const cut& x = g.cut[i];
    int& at = c.at[x.axis];
    at += (piece % x.size - digit_of(g.mesh, x, at)) * hyperparallel::detail::stride_of(g.mesh, x);
    piece /= x.size;
  }
  return position_of(g.mesh, c);
}

}  // namespace detail

/// Axes that shard one of `dims`, as bits.
constexpr unsigned axes_of(const layout_value& l, unsigned dims) {
  unsigned axes = 0;
  for (int i = 0; i < l.cut_count; ++i)
    if ((dims >> l.cut[i].dim & 1u) != 0) axes |= 1u << l.cut[i].axis;
  return axes;
}

namespace detail {

/// `l` with only those cuts that `keep(cut)` wants; a dim that loses one is padded no more.
template <class Keep>
constexpr layout_value keep_cuts(const layout_value& l, const Keep& keep) {
  layout_value r = l;
  r.cut_count = 0;
  for (int i = 0; i < max_cuts; ++i) r.cut[i] = {};
  for (int i = 0; i < l.cut_count; ++i) {
    if (keep(l.cut[i]))
      append_cut(r, l.cut[i]);
    else
      r.padded &= ~(1u << l.cut[i].dim);
  }
  return r;
}

/// `l` with `dims` whole.
constexpr layout_value without_dims(const layout_value& l, unsigned dims) {
  layout_value r = keep_cuts(l, [dims](const cut& c) { return (dims >> c.dim & 1u) == 0; });
  r.padded &= ~dims;
  return r;
}

/// `l` with nothing sharded by `axes`.
constexpr layout_value without_axes(const layout_value& l, unsigned axes) {
  return keep_cuts(l, [axes](const cut& c) { return (axes >> c.axis & 1u) == 0; });
}

/// `l` with the cuts that `from` has in dim d + `offset` after its own ones, for each d of `dims`. Domain: room for
/// them, no axis twice.
constexpr layout_value with_cuts(const layout_value& l, unsigned dims, const layout_value& from, int offset = 0) {
  layout_value r = keep_cuts(l, [](const cut&) { return false; });
  r.padded = l.padded;
  for (int d = 0; d < l.rank; ++d) {
    for (int i = 0; i < l.cut_count; ++i)
      if (l.cut[i].dim == d) append_cut(r, l.cut[i]);
    if ((dims >> d & 1u) == 0) continue;
    for (int i = 0; i < from.cut_count; ++i) {
      cut c = from.cut[i];
      if (c.dim != d + offset) continue;
      c.dim = d;
      append_cut(r, c);
    }
    if (is_padded(from, d + offset)) r.padded |= 1u << d;
  }
  return r;
}

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::distributed
