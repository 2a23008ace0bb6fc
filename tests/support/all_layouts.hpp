// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every ordered layout of a small world: each axis is unused or at some place of some dim. Brute force starts here.

#include <hyperparallel/layout.hpp>

#include <vector>

namespace worlds {

namespace hp = hyperparallel;

namespace detail {

/// Inserts axes `next`, next + 1, … into the ordered lists of the dims in every way.
inline void place_axes(const hp::mesh_shape& m, int next, std::vector<std::vector<int>>& dims,
                       std::vector<hp::layout_value>& found) {
  if (next == m.axis_count) {
    hp::layout_value l = hp::replicated(m, static_cast<int>(dims.size()));
    for (std::size_t d = 0; d < dims.size(); ++d)
      for (const int axis : dims[d]) hp::append_cut(l, {static_cast<int>(d), axis, 1, m.size[axis]});
    found.push_back(l);
    return;
  }
  place_axes(m, next + 1, dims, found);
  for (std::size_t d = 0; d < dims.size(); ++d)
    for (std::size_t at = 0; at <= dims[d].size(); ++at) {
      dims[d].insert(dims[d].begin() + static_cast<std::ptrdiff_t>(at), next);
      place_axes(m, next + 1, dims, found);
      dims[d].erase(dims[d].begin() + static_cast<std::ptrdiff_t>(at));
    }
}

inline bool shards(const hp::layout_value& l, int axis) {
  for (int i = 0; i < l.cut_count; ++i)
    if (l.cut[i].axis == axis) return true;
  return false;
}

}  // namespace detail

inline std::vector<hp::layout_value> all_layouts(const hp::mesh_shape& m, int rank) {
  std::vector<std::vector<int>> dims(static_cast<std::size_t>(rank));
  std::vector<hp::layout_value> found;
  detail::place_axes(m, 0, dims, found);
  return found;
}

/// Every layout, with each axis that shards nothing replicated or partial by one of `ops`.
inline std::vector<hp::layout_value> partial_layouts(const hp::mesh_shape& m, int rank,
                                                     const std::vector<hp::reduce_op>& ops, unsigned padded = 0) {
  std::vector<hp::layout_value> found = all_layouts(m, rank);
  for (hp::layout_value& l : found) l.padded = padded;
  for (int a = 0; a < m.axis_count; ++a) {
    std::vector<hp::layout_value> more;
    for (const hp::layout_value& l : found)
      if (!detail::shards(l, a))
        for (const hp::reduce_op op : ops) {
          more.push_back(l);
          more.back().partial[a] = op;
        }
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

/// A shape every extent of which divides by all devices together.
inline hp::shape divisible_shape(const hp::mesh_shape& m, int rank, hp::extent_t times = 1) {
  hp::shape s;
  for (int d = 0; d < rank; ++d) s.extent[s.rank++] = hp::position_count(m) * times;
  return s;
}

inline const std::vector<hp::mesh_shape>& small_meshes() {
  static const std::vector<hp::mesh_shape> meshes{{1, {2}}, {2, {2, 2}}, {3, {2, 2, 2}}, {2, {2, 3}}};
  return meshes;
}

}  // namespace worlds
