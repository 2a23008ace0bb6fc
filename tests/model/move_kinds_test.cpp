// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/model/move_kinds.hpp>

#include <model/random_program.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace hp = hyperparallel;

namespace {

hp::layout_value random_layout(std::mt19937& random, const hp::mesh_shape& m, int rank, bool with_terms) {
  hp::layout_value l;
  l.mesh = m;
  l.rank = rank;
  std::vector<int> place;
  for (int a = 0; a < m.axis_count; ++a) place.push_back(static_cast<int>(random() % static_cast<unsigned>(rank + 2)));
  const bool reversed = random() % 2 == 0;
  for (int d = 0; d < rank; ++d)
    for (int i = 0; i < m.axis_count; ++i) {
      const int a = reversed ? m.axis_count - 1 - i : i;
      if (place[static_cast<std::size_t>(a)] == d) hp::append_cut(l, {d, a, 1, m.size[a]});
    }
  for (int a = 0; a < m.axis_count; ++a)
    if (with_terms && place[static_cast<std::size_t>(a)] == rank && m.size[a] > 1) l.partial[a] = hp::reduce_op::sum;
  return l;
}

struct walked_plan {
  hp::extent_t received = 0;
  unsigned axes = 0;
};

/// From every transfer of every receiver.
walked_plan walk(const hp::move_plan& plan) {
  walked_plan w;
  if (plan.step_count == 0) return w;
  const hp::mesh_shape& m = plan.step[0].source.mesh;
  for (int q = 0; q < hp::position_count(m); ++q) {
    hp::extent_t received = 0;
    for (int i = 0; i < plan.step_count; ++i) {
      const hp::step_receiver r = hp::receiver_of(plan.step[i], plan.shape, q);
      for (hp::extent_t k = 0; k < r.transfers; ++k) {
        const hp::transfer t = hp::transfer_at(plan.step[i], r, k);
        if (t.sender == q || hp::volume(t.part) == 0) continue;
        received += hp::volume(t.part);
        const hp::coordinate from = hp::coordinates_of(m, t.sender), to = hp::coordinates_of(m, q);
        for (int a = 0; a < m.axis_count; ++a)
          if (from.at[a] != to.at[a]) w.axes |= 1u << a;
      }
    }
    w.received = hp::larger(w.received, received);
  }
  return w;
}

TEST(move_kinds, tell_what_the_plan_of_each_move_tells) {
  std::mt19937 random(5);
  hp::sharded_program p;
  p.mesh.shape = {3, {2, 3, 2}};
  for (int i = 0; i < 12; ++i) {
    hp::graph_tensor t;
    t.shape = i % 2 == 0 ? hp::shape{24, 12} : hp::shape{12, 36};
    p.graph.tensor.push(t);
  }
  for (int i = 0; i < 400; ++i) {
    const int tensor = static_cast<int>(random() % 12);
    const int from = p.value.push({tensor, random_layout(random, p.mesh.shape, 2, true), {}, -1});
    const int to = p.value.push({tensor, random_layout(random, p.mesh.shape, 2, false), {}, -1});
    p.move.push({from, to, -1});
    if (i % 3 == 0) p.move.push({from, to, -1});
  }
  const hp::program_moves moves = hp::kinds_of_moves(p);
  ASSERT_EQ(moves.of.size, p.move.size);
  EXPECT_LT(moves.kind.size, p.move.size);
  for (int i = 0; i < p.move.size; ++i) {
    const hp::program_value &from = p.value[p.move[i].source], &to = p.value[p.move[i].target];
    const hp::move_plan plan = hp::plan_move(from.layout, to.layout, p.graph.tensor[from.tensor].shape);
    const hp::move_kind& kind = hp::kind_of(moves, i);
    const walked_plan walked = walk(plan);
    ASSERT_EQ(kind.code, plan.code);
    EXPECT_EQ(kind.plan, plan.kind);
    EXPECT_EQ(kind.steps, plan.step_count);
    EXPECT_EQ(kind.received, walked.received);
    EXPECT_EQ(kind.axes & walked.axes, walked.axes) << "move " << i;
    hp::extent_t between = 0;
    for (int s = 0; s + 1 < plan.step_count; ++s) between += hp::volume(hp::target_frame(plan.step[s], plan.shape, 3));
    EXPECT_EQ(kind.between, between);
  }
  for (int a = 0; a < moves.kind.size; ++a)
    for (int b = 0; b < a; ++b) EXPECT_FALSE(hp::detail::is_of_kind(p, moves.kind[a], moves.kind[b]));
}

TEST(move_kinds, idle_replicas_help_to_reduce) {
  hp::sharded_program p;
  p.mesh.shape = {2, {2, 4}};
  hp::graph_tensor t;
  t.shape = hp::shape{16, 8};
  p.graph.tensor.push(t);
  hp::layout_value l;
  l.mesh = p.mesh.shape;
  l.rank = 2;
  const int whole = p.value.push({0, l, {}, -1});
  l.partial[1] = hp::reduce_op::sum;
  const int terms = p.value.push({0, l, {}, -1});
  p.move.push({terms, whole, -1});
  const hp::program_moves moves = hp::kinds_of_moves(p);
  EXPECT_EQ(hp::kind_of(moves, 0).axes, 3u);
  EXPECT_EQ(hp::kind_of(moves, 0).received, 3 * 16 + 128 - 16);
}

TEST(move_kinds, know_the_axis_of_each_native_collective) {
  hp::sharded_program p;
  p.mesh.shape = {2, {1, 4}};
  hp::graph_tensor t;
  t.shape = hp::shape{16, 8};
  p.graph.tensor.push(t);
  const auto value = [&](int axis, int dim, hp::reduce_op waiting) {
    hp::layout_value l;
    l.mesh = p.mesh.shape;
    l.rank = 2;
    if (dim >= 0) hp::append_cut(l, {dim, axis, 1, p.mesh.shape.size[axis]});
    if (waiting != hp::reduce_op::none) l.partial[axis] = waiting;
    return p.value.push({0, l, {}, -1});
  };
  const int whole = value(1, -1, hp::reduce_op::none), rows = value(1, 0, hp::reduce_op::none);
  const int columns = value(1, 1, hp::reduce_op::none), terms = value(1, -1, hp::reduce_op::sum);
  p.move.push({rows, whole, -1});
  p.move.push({rows, columns, -1});
  p.move.push({terms, rows, -1});
  p.move.push({terms, whole, -1});
  p.move.push({whole, rows, -1});
  const hp::program_moves moves = hp::kinds_of_moves(p);
  const hp::extent_t n = 128;
  const hp::extent_t received[] = {n * 3 / 4, n / 4 * 3 / 4, n * 3 / 4, 2 * n * 3 / 4, 0};
  const hp::plan_kind kinds[] = {hp::plan_kind::all_gather, hp::plan_kind::all_to_all, hp::plan_kind::reduce_scatter,
                                 hp::plan_kind::all_reduce, hp::plan_kind::local_slice};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(hp::kind_of(moves, i).plan, kinds[i]);
    EXPECT_EQ(hp::kind_of(moves, i).received, received[i]);
    EXPECT_EQ(hp::kind_of(moves, i).axes, i < 4 ? 2u : 0u);
  }
  EXPECT_EQ(hp::kind_of(moves, 3).between, n);
}

TEST(move_kinds, travelling_blocks_are_received_whole) {
  hp::sharded_program p;
  p.mesh.shape = {1, {4}};
  hp::graph_tensor t;
  t.shape = hp::shape{16};
  p.graph.tensor.push(t);
  hp::layout_value l;
  l.mesh = p.mesh.shape;
  l.rank = 1;
  hp::append_cut(l, {0, 0, 1, 4});
  const int own = p.value.push({0, l, {}, -1});
  const int next = p.value.push({0, l, {0, 1}, -1}), after = p.value.push({0, l, {0, 2}, -1});
  p.move.push({own, next, -1});
  p.move.push({next, after, -1});
  p.move.push({own, after, -1});
  const hp::program_moves moves = hp::kinds_of_moves(p);
  EXPECT_EQ(moves.of[0], moves.of[1]);
  EXPECT_NE(moves.of[0], moves.of[2]);
  EXPECT_EQ(hp::kind_of(moves, 0).travel, 1);
  EXPECT_EQ(hp::kind_of(moves, 2).travel, 2);
  EXPECT_EQ(hp::kind_of(moves, 0).received, 4);
  EXPECT_EQ(hp::kind_of(moves, 0).axes, 1u);
}

}  // namespace
