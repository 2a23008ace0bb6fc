// SPDX-License-Identifier: Apache-2.0
#pragma once
// Axis groups: the devices that differ only along chosen axes. They are what a collective runs over.
//
// Law: for any set of axes the groups partition the matrix; the group of every member is the same group. Member order
// is lexicographic in the *given* order of axes (the first listed is the outermost), because a tuple of axes shards in
// that order and several runtimes that sort ranks get it wrong.

#include <hyperparallel/mesh/coordinates.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Distinct axes, outermost first.
struct axis_list {
  int count = 0;
  int axis[max_axes] = {};
  friend constexpr bool operator==(const axis_list&, const axis_list&) = default;
};

/// Number of devices in each group over `axes`.
constexpr int group_size(const mesh_shape& m, const axis_list& axes) {
  int n = 1;
  for (int i = 0; i < axes.count; ++i) n *= m.size[axes.axis[i]];
  return n;
}

/// Position of the `index`-th member of the group that holds `position`. Domain: 0 ≤ index < group_size. O(axes).
constexpr int group_member(const mesh_shape& m, const axis_list& axes, int position, int index) {
  coordinate c = coordinates_of(m, position);
  for (int i = axes.count - 1; i >= 0; --i) {
    const int n = m.size[axes.axis[i]];
    c.at[axes.axis[i]] = index % n;
    index /= n;
  }
  return position_of(m, c);
}

/// Index of `position` in its own group: the inverse of `group_member`. O(axes).
constexpr int index_in_group(const mesh_shape& m, const axis_list& axes, int position) {
  const coordinate c = coordinates_of(m, position);
  int index = 0;
  for (int i = 0; i < axes.count; ++i) index = index * m.size[axes.axis[i]] + c.at[axes.axis[i]];
  return index;
}

}}  // namespace hyperparallel::v0_2
