// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs of a single move, between random layouts of random meshes.

#include <hyperparallel/strategy/sharded_program.hpp>

#include <initializer_list>
#include <random>
#include <vector>

namespace programs {

namespace hp = hyperparallel;

/// One tensor, its home, and another value of it that the move makes.
constexpr hp::sharded_program one_move(const hp::layout_value& source, const hp::layout_value& target,
                                       const hp::shape& s, hp::value_rotation from = {}, hp::value_rotation to = {},
                                       hp::data_type type = hp::data_type::f32) {
  hp::sharded_program p;
  p.mesh.shape = source.mesh;
  hp::graph_tensor t;
  t.name = hp::add_text(p.graph, "x");
  t.kind = hp::graph_tensor_kind::input;
  t.type = type;
  t.shape = s;
  p.graph.tensor.push(t);
  p.value.push({0, source, from, 0});
  p.value.push({0, target, to, 1});
  p.storage.push({0, true, hp::local_bytes(p, 0)});
  p.storage.push({0, false, hp::local_bytes(p, 1)});
  p.home.push(0);
  p.graph.monitor.push(0);
  p.move.push({0, 1, -1});
  p.step.push({true, 0, hp::graph_phase::forward, -1});
  return p;
}

/// The dims cut by the axes that are named, each by one; -1 leaves a dim whole.
constexpr hp::layout_value layout_by(const hp::mesh_shape& m, std::initializer_list<int> axes,
                                     std::initializer_list<int> waiting = {}) {
  hp::layout_value l;
  l.mesh = m;
  for (const int a : axes) {
    if (a >= 0) hp::append_cut(l, {l.rank, a, 1, m.size[a]});
    ++l.rank;
  }
  for (const int a : waiting) l.partial[a] = hp::reduce_op::sum;
  return l;
}

/// Axes deal themselves to dims, to waiting terms by `op`, or to replicas.
inline hp::layout_value random_layout(std::mt19937& random, const hp::mesh_shape& m, int rank, hp::reduce_op op) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  hp::layout_value l;
  l.mesh = m;
  l.rank = rank;
  std::vector<int> use;
  for (int a = 0; a < m.axis_count; ++a) use.push_back(below(rank + 2));
  const bool reversed = below(2) == 0;
  for (int d = 0; d < rank; ++d)
    for (int i = 0; i < m.axis_count; ++i) {
      const int a = reversed ? m.axis_count - 1 - i : i;
      if (use[static_cast<std::size_t>(a)] == d) hp::append_cut(l, {d, a, 1, m.size[a]});
    }
  for (int a = 0; a < m.axis_count; ++a)
    if (use[static_cast<std::size_t>(a)] == rank && m.size[a] > 1) l.partial[a] = op;
  return l;
}

inline hp::mesh_shape random_mesh(std::mt19937& random) {
  const hp::mesh_shape some[] = {{1, {4}}, {2, {2, 2}}, {2, {2, 3}}, {3, {2, 2, 2}}, {3, {2, 3, 2}}, {2, {4, 2}}};
  return some[random() % 6];
}

/// A move between two layouts of one mesh, of a tensor that both divide. Without `terms` both are whole.
inline hp::sharded_program random_move(std::mt19937& random, hp::reduce_op terms,
                                       hp::data_type type = hp::data_type::f32) {
  const hp::mesh_shape m = random_mesh(random);
  const int rank = 1 + static_cast<int>(random() % 3);
  const hp::layout_value from = random_layout(random, m, rank, terms), to = random_layout(random, m, rank, terms);
  hp::shape s;
  s.rank = rank;
  for (int d = 0; d < rank; ++d)
    s.extent[d] = hp::shards_of(from, d) * hp::shards_of(to, d) * hp::extent_t(1 + random() % 2);
  return one_move(from, to, s, {}, {}, type);
}

}  // namespace programs
