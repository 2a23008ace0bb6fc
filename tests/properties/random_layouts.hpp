// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random meshes of up to six axes and random ordered layouts on them, with shapes that divide.

#include <hyperparallel/layout.hpp>

#include <rapidcheck.h>

#include <vector>

namespace properties {

namespace hp = hyperparallel;

/// At most `most` devices, axes of size 1 included.
inline hp::mesh_shape random_mesh(int most = 96) {
  hp::mesh_shape m;
  const int axes = *rc::gen::inRange(1, 7);
  int devices = 1;
  for (int a = 0; a < axes; ++a) {
    int size = *rc::gen::element(1, 2, 2, 2, 3, 4, 5, 6);
    if (devices * size > most) size = 1;
    devices *= size;
    m.size[m.axis_count++] = size;
  }
  return m;
}

/// Each axis unused or at a random place of a random dim.
inline hp::layout_value random_layout(const hp::mesh_shape& m, int rank) {
  std::vector<std::vector<int>> dims(static_cast<std::size_t>(rank));
  for (int a = 0; a < m.axis_count; ++a) {
    const int d = *rc::gen::inRange(-1, rank);
    if (d < 0) continue;
    std::vector<int>& list = dims[static_cast<std::size_t>(d)];
    list.insert(list.begin() + *rc::gen::inRange(0, static_cast<int>(list.size()) + 1), a);
  }
  hp::layout_value l = hp::replicated(m, rank);
  for (int d = 0; d < rank; ++d)
    for (const int a : dims[static_cast<std::size_t>(d)]) hp::append_cut(l, {d, a, 1, m.size[a]});
  return l;
}

/// The same, where axes that shard nothing may wait for a reduction by `op`.
inline hp::layout_value random_state(const hp::mesh_shape& m, int rank, hp::reduce_op op) {
  hp::layout_value l = random_layout(m, rank);
  unsigned sharding = 0;
  for (int i = 0; i < l.cut_count; ++i) sharding |= 1u << l.cut[i].axis;
  for (int a = 0; a < m.axis_count; ++a)
    if (m.size[a] > 1 && (sharding >> a & 1u) == 0 && *rc::gen::inRange(0, 2) == 0) l.partial[a] = op;
  return l;
}

inline int random_rank(int most = 3) { return *rc::gen::inRange(1, most + 1); }

/// The least shape that both layouts divide, times a small factor per dim.
inline hp::shape common_shape(const hp::layout_value& a, const hp::layout_value& b) {
  hp::shape s;
  for (int d = 0; d < a.rank; ++d) {
    const hp::extent_t p = hp::shards_of(a, d), q = hp::shards_of(b, d);
    s.extent[s.rank++] = p / hp::greatest_common_divisor(p, q) * q * *rc::gen::inRange(1, 4);
  }
  return s;
}

inline hp::shape any_shape(int rank) {
  hp::shape s;
  for (int d = 0; d < rank; ++d) s.extent[s.rank++] = *rc::gen::inRange(0, 40);
  return s;
}

}  // namespace properties
