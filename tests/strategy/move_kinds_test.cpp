// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/move_kinds.hpp>

#include <lowering/one_move.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

using programs::layout_by;

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
    const auto add = [&](hp::reduce_op terms) {
      return p.value.push({tensor, programs::random_layout(random, p.mesh.shape, 2, terms), {}, -1});
    };
    const int from = add(hp::reduce_op::sum), to = add(hp::reduce_op::none);
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
    EXPECT_EQ(kind.exchange_steps, plan.step_count);
    EXPECT_EQ(kind.steps, plan.step_count);
    EXPECT_EQ(kind.received, walked.received);
    EXPECT_EQ(kind.axes & walked.axes, walked.axes) << "move " << i;
    hp::extent_t between = 0;
    for (int s = 0; s + 1 < plan.step_count; ++s) between += hp::volume(hp::target_frame(plan.step[s], plan.shape, 3));
    EXPECT_EQ(kind.staged_bytes, between * hp::bytes_of(p.graph.tensor[from.tensor].type));
  }
  for (int a = 0; a < moves.kind.size; ++a)
    for (int b = 0; b < a; ++b) EXPECT_FALSE(hp::detail::is_of_kind(p, moves.kind[a], moves.kind[b]));
}

TEST(move_kinds, idle_replicas_help_to_reduce) {
  const hp::mesh_shape m{2, {2, 4}};
  const hp::sharded_program p =
      programs::one_move(layout_by(m, {-1, -1}, {1}), layout_by(m, {-1, -1}), hp::shape{16, 8});
  const hp::program_moves moves = hp::kinds_of_moves(p);
  EXPECT_EQ(hp::kind_of(moves, 0).axes, 3u);
  EXPECT_EQ(hp::kind_of(moves, 0).received, 3 * 16 + 128 - 16);
}

TEST(move_kinds, know_the_axis_of_each_native_collective) {
  const hp::mesh_shape m{2, {1, 4}};
  const hp::layout_value whole = layout_by(m, {-1, -1}), rows = layout_by(m, {1, -1}), columns = layout_by(m, {-1, 1});
  const hp::layout_value terms = layout_by(m, {-1, -1}, {1});
  const struct {
    hp::layout_value from, to;
    hp::plan_kind plan;
    hp::extent_t received;
    unsigned axes;
  } native[] = {{rows, whole, hp::plan_kind::all_gather, 96, 2},
                {rows, columns, hp::plan_kind::all_to_all, 24, 2},
                {terms, rows, hp::plan_kind::reduce_scatter, 96, 2},
                {terms, whole, hp::plan_kind::all_reduce, 192, 2},
                {whole, rows, hp::plan_kind::local_slice, 0, 0}};
  for (const auto& n : native) {
    const hp::program_moves moves = hp::kinds_of_moves(programs::one_move(n.from, n.to, hp::shape{16, 8}));
    EXPECT_EQ(hp::kind_of(moves, 0).plan, n.plan);
    EXPECT_EQ(hp::kind_of(moves, 0).received, n.received);
    EXPECT_EQ(hp::kind_of(moves, 0).axes, n.axes);
    EXPECT_EQ(hp::kind_of(moves, 0).staged_bytes, n.plan == hp::plan_kind::all_reduce ? 4 * 128 : 0);
  }
}

TEST(move_kinds, travelling_blocks_are_received_whole) {
  const hp::layout_value l = layout_by({1, {4}}, {0});
  hp::sharded_program p = programs::one_move(l, l, hp::shape{16}, {}, {0, 1});
  const int after = p.value.push({0, l, {0, 2}, -1});
  p.move.push({1, after, -1});
  p.move.push({0, after, -1});
  const hp::program_moves moves = hp::kinds_of_moves(p);
  EXPECT_EQ(moves.of[0], moves.of[1]);
  EXPECT_NE(moves.of[0], moves.of[2]);
  EXPECT_EQ(hp::kind_of(moves, 0).travel, 1);
  EXPECT_EQ(hp::kind_of(moves, 2).travel, 2);
  EXPECT_EQ(hp::kind_of(moves, 0).received, 4);
  EXPECT_EQ(hp::kind_of(moves, 0).axes, 1u);
}

}  // namespace
