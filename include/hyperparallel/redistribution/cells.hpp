// SPDX-License-Identifier: Apache-2.0
#pragma once
// Groups of devices that hold one piece, and parts of a box: what the steps of a move are figured with.
//
// The devices that hold a piece differ in the coordinates, or parts of them, that do not shard: the free digits. Each
// member of such a group has an index, with the first free digit fastest.
// Laws: member_of(c, g, index_among(c', g)) is c' for every c' that differs from c in free digits only; the parts of a
// box tile it.

#include <hyperparallel/layout/slice.hpp>
#include <hyperparallel/mesh/axis_group.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

constexpr unsigned cut_axes(const layout_value& l) {
  unsigned mask = 0;
  for (int i = 0; i < l.cut_count; ++i) mask |= 1u << l.cut[i].axis;
  return mask;
}

constexpr axis_list axes_of(const mesh_shape& m, unsigned mask) {
  axis_list list;
  for (int a = 0; a < m.axis_count; ++a)
    if ((mask >> a & 1u) != 0) list.axis[list.count++] = a;
  return list;
}

/// Sets the coordinates along `mask` to the digits of `index`, the last axis fastest.
constexpr void enter_group(coordinate& c, const mesh_shape& m, unsigned mask, int index) {
  for (int a = m.axis_count - 1; a >= 0; --a) {
    if ((mask >> a & 1u) == 0) continue;
    c.at[a] = index % m.size[a];
    index /= m.size[a];
  }
}

constexpr bool agree(const coordinate& a, const coordinate& b, unsigned mask) {
  for (int i = 0; mask >> i != 0; ++i)
    if ((mask >> i & 1u) != 0 && a.at[i] != b.at[i]) return false;
  return true;
}

constexpr bool all_zero(const coordinate& c, unsigned mask) { return agree(c, {}, mask); }

/// The `index`-th of `count` ceil chunks of a box, along the dim that it divides most evenly.
constexpr box part_of(const box& whole, int index, int count) {
  if (count == 1 || volume(whole) == 0) return whole;
  int best = 0;
  extent_t extent = 0, chunk = 1;
  for (int d = 0; d < whole.rank; ++d) {
    const extent_t n = whole.dim[d].end - whole.dim[d].begin, c = ceil_divide(n, count);
    if (extent != 0 && c * extent >= chunk * n) continue;
    best = d;
    extent = n;
    chunk = c;
  }
  if (whole.rank == 0) return index == 0 ? whole : box(interval{0, 0});  // one element: the first part has it
  box part = whole;
  const extent_t begin = whole.dim[best].begin, end = whole.dim[best].end;
  part.dim[best] = {smaller(end, begin + index * chunk), smaller(end, begin + (index + 1) * chunk)};
  return part;
}

/// The part of a box from about its `from`-th to its `to`-th element, in whole planes of its longest dim. Parts of
/// ranges that continue each other continue each other. Domain: the box is not empty.
constexpr box slab_of(const box& whole, extent_t from, extent_t to) {
  int best = 0;
  for (int d = 1; d < whole.rank; ++d)
    if (whole.dim[d].end - whole.dim[d].begin > whole.dim[best].end - whole.dim[best].begin) best = d;
  if (whole.rank == 0) return from == 0 && to > 0 ? whole : box(interval{0, 0});
  box slab = whole;
  const extent_t begin = whole.dim[best].begin, plane = volume(whole) / (whole.dim[best].end - begin);
  slab.dim[best] = {begin + (from + plane / 2) / plane, begin + (to + plane / 2) / plane};
  return slab;
}

/// The parts of mesh coordinates that do not shard a layout: part i is coordinate axis[i] / stride[i] % size[i].
struct free_digits {
  int count = 0;
  int members = 1;  ///< product of the sizes
  int axis[max_axes + max_cuts] = {};
  int stride[max_axes + max_cuts] = {};
  int size[max_axes + max_cuts] = {};
};

/// The free digits of `l` along all axes but those of `without`. O(axes · cuts²).
constexpr free_digits digits_beside(const layout_value& l, unsigned without = 0) {
  free_digits f;
  for (int a = 0; a < l.mesh.axis_count; ++a) {
    if ((without >> a & 1u) != 0) continue;
    for (int below = 1; below < l.mesh.size[a];) {  // from the fastest part of the axis upwards
      int next = l.mesh.size[a], beyond = next;
      for (int i = 0; i < l.cut_count; ++i) {
        if (l.cut[i].axis != a) continue;
        const int stride = stride_of(l.mesh, l.cut[i]);
        if (stride < below || stride >= next) continue;
        next = stride;
        beyond = stride * l.cut[i].size;
      }
      if (next > below) {
        f.axis[f.count] = a;
        f.stride[f.count] = below;
        f.size[f.count] = next / below;
        f.members *= f.size[f.count++];
      }
      below = beyond;
    }
  }
  return f;
}

/// `c` with the free digits of member `index`. Domain: 0 ≤ index < f.members. O(digits).
constexpr coordinate member_of(coordinate c, const free_digits& f, int index) {
  for (int i = 0; i < f.count; ++i) {
    int& at = c.at[f.axis[i]];
    at += (index % f.size[i] - at / f.stride[i] % f.size[i]) * f.stride[i];
    index /= f.size[i];
  }
  return c;
}

/// Index of `c` in its own group. O(digits).
constexpr int index_among(const coordinate& c, const free_digits& f) {
  int index = 0;
  for (int i = f.count - 1; i >= 0; --i) index = index * f.size[i] + c.at[f.axis[i]] / f.stride[i] % f.size[i];
  return index;
}

}}}  // namespace hyperparallel::v0_2::detail
