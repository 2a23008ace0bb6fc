// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every layout of a small world whose cuts are parts of axes: whole axes, and parts that lie apart in one axis.

#include <hyperparallel/layout.hpp>

#include <vector>

namespace worlds {

namespace hp = hyperparallel;

namespace detail {

/// Whether each of two parts of an axis can be set at every coordinate without changing the other, by trying.
inline bool can_be_set_apart(const hp::mesh_shape& m, const hp::cut& a, const hp::cut& b) {
  if (a.axis != b.axis) return true;
  for (const bool turned : {false, true}) {
    const hp::cut &set = turned ? b : a, &kept = turned ? a : b;
    for (int at = 0; at < m.size[a.axis]; ++at)
      for (int value = 0; value < set.size; ++value) {
        const int to = at + (value - hp::digit_of(m, set, at)) * hp::detail::stride_of(m, set);
        if (hp::digit_of(m, kept, to) != hp::digit_of(m, kept, at)) return false;
      }
  }
  return true;
}

inline void add_parts(const hp::mesh_shape& m, int dim, int rank, int most, hp::layout_value& l,
                      std::vector<hp::layout_value>& found) {
  if (dim == rank) {
    found.push_back(l);
    return;
  }
  add_parts(m, dim + 1, rank, most, l, found);
  if (l.cut_count == most) return;
  for (int a = 0; a < m.axis_count; ++a)
    for (int pre = 1; pre <= m.size[a]; ++pre)
      for (int size = 2; pre * size <= m.size[a]; ++size) {
        if (m.size[a] % (pre * size) != 0) continue;
        const hp::cut c{dim, a, pre, size};
        bool apart = true, continues = false;
        for (int i = 0; i < l.cut_count; ++i) apart = apart && can_be_set_apart(m, l.cut[i], c);
        if (l.cut_count > 0) {
          const hp::cut& last = l.cut[l.cut_count - 1];
          continues = last.dim == dim && last.axis == a && last.pre * last.size == pre;
        }
        if (!apart || continues) continue;
        l.cut[l.cut_count++] = c;
        add_parts(m, dim, rank, most, l, found);
        l.cut[--l.cut_count] = {};
      }
}

}  // namespace detail

/// Every canonical layout of at most `most` cuts, without partial states.
inline std::vector<hp::layout_value> sub_axis_layouts(const hp::mesh_shape& m, int rank, int most) {
  hp::layout_value l = hp::replicated(m, rank);
  std::vector<hp::layout_value> found;
  detail::add_parts(m, 0, rank, most, l, found);
  return found;
}

}  // namespace worlds
