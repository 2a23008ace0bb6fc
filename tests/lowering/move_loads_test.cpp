// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/move_loads.hpp>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/redistribution/choose_move.hpp>

#include <lowering/one_move.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

using programs::layout_by;

/// Sum over the emitted steps.
hp::time_cost priced(const hp::move_plan& plan, const hp::interconnect& net, hp::extent_t bytes) {
  hp::time_cost time;
  const int positions = hp::position_count(plan.step[0].source.mesh);
  std::vector<hp::extent_t> entries(static_cast<std::size_t>(hp::tally_size(net, positions)));
  const hp::move_tally tally = hp::detail::tally_in(entries.data(), net, positions);
  for (int i = 0; i < plan.step_count; ++i) {
    const hp::step_part part{&plan.step[i], &plan.shape};
    time = hp::then(time, hp::price_step(&part, 1, net, bytes, tally).time);
  }
  return time;
}

/// A program's moves are priced as they would be chosen by time, never above the plan by fewest bytes.
TEST(move_loads, cost_what_the_fastest_way_costs) {
  std::mt19937 random(41);
  const hp::interconnect net = hp::on_topology(hp::matrix384::topology);
  int staged = 0, moves = 0;
  for (int round = 0; round < 600; ++round) {
    const hp::mesh_shape meshes[] = {{1, {8}}, {2, {4, 8}}, {3, {2, 4, 2}}, {2, {3, 4}}};
    const hp::mesh_shape& m = meshes[round % 4];
    const hp::layout_value from = programs::random_layout(random, m, 2, hp::reduce_op::sum);
    const hp::layout_value to = programs::random_layout(random, m, 2, hp::reduce_op::none);
    const hp::sharded_program p = programs::one_move(from, to, hp::shape{192, 96});
    const hp::shape& s = p.graph.tensor[0].shape;
    const hp::program_moves kinds = hp::kinds_of_moves(p, net);
    const auto load = hp::detail::loads_of_moves(p, kinds);
    ASSERT_EQ(load.size, 1);
    EXPECT_EQ(load[0].code, hp::cost_code::ok);
    const hp::move_plan plan = hp::plan_move(from, to, s);
    EXPECT_EQ(load[0].step.empty(), kinds.kind[0].received == 0);
    if (plan.step_count == 0) continue;
    std::vector<hp::extent_t> entries(static_cast<std::size_t>(hp::tally_size(net, hp::position_count(m))));
    const hp::chosen_move chosen =
        hp::choose_move(from, to, s, {hp::objective::time, net, 4, 0, false}, entries.data());
    const hp::time_cost told = hp::time_of(load[0], 4, net);
    ASSERT_EQ(told, chosen.figures.time);
    EXPECT_LE(told.picoseconds, priced(plan, net, 4).picoseconds);
    ++moves;
    staged += load[0].candidate != hp::move_candidate::exchange ? 1 : 0;
  }
  EXPECT_GE(moves, 400);
  EXPECT_GE(staged, 100);
}

/// Tensors of one shape and another type are of another kind: which way is fastest hangs on bytes.
TEST(move_loads, of_other_element_sizes_are_told_apart) {
  const hp::layout_value rows = layout_by({1, {8}}, {0}), whole = layout_by({1, {8}}, {-1});
  hp::sharded_program p = programs::one_move(rows, whole, hp::shape{64});
  hp::graph_tensor wide = p.graph.tensor[0];
  wide.type = hp::data_type::bf16;
  p.graph.tensor.push(wide);
  p.value.push({1, rows, {}, 0});
  p.value.push({1, whole, {}, 1});
  p.move.push({2, 3, -1});
  ASSERT_NE(hp::bytes_of(p.graph.tensor[0].type), hp::bytes_of(p.graph.tensor[1].type));
  EXPECT_EQ(hp::kinds_of_moves(p).kind.size, 2);
}

TEST(move_loads, of_a_ring_are_those_of_the_longest_hop) {
  const hp::layout_value l = layout_by({1, {4}}, {0});
  const hp::sharded_program p = programs::one_move(l, l, hp::shape{16}, {}, {0, 1});
  const hp::interconnect net = hp::on_topology(hp::matrix384::topology);
  const auto load = hp::detail::loads_of_moves(p, hp::kinds_of_moves(p, net));
  EXPECT_EQ(hp::detail::elements_over(load[0], 0), 0);
  EXPECT_EQ(hp::detail::elements_over(load[0], 1), 4);
  EXPECT_EQ(hp::detail::messages_over(load[0], 1), 1);
}

/// All ranks rotate along an axis: a step along each axis of the full mesh that some hop crosses, one block on a link.
TEST(move_loads, of_a_ring_on_a_full_mesh_are_relayed) {
  const hp::link_level along[2] = {{"column", 2, hp::gigabyte, 7}, {"row", 4, hp::gigabyte, 5}};
  const hp::interconnect net = hp::on_full_mesh({2, {2, 4}}, along);
  const hp::layout_value l = layout_by({1, {8}}, {0});
  const hp::sharded_program p = programs::one_move(l, l, hp::shape{32}, {}, {0, 1});
  const auto load = hp::detail::loads_of_moves(p, hp::kinds_of_moves(p, net));
  ASSERT_EQ(load[0].step.size, 2);
  EXPECT_EQ(load[0].step[0].level[1], (hp::level_load{1, 4, 4}));
  EXPECT_EQ(load[0].step[0].received, 32) << "every hop changes the row";
  EXPECT_EQ(load[0].step[1].level[0], (hp::level_load{1, 4, 4}));
  EXPECT_EQ(load[0].step[1].received, 8) << "two hops change the column";
  EXPECT_EQ(hp::detail::loads_of_moves(p, hp::kinds_of_moves(p, hp::on_full_mesh({2, {2, 2}}, along)))[0].code,
            hp::cost_code::ranks_are_not_connected);
}

/// 16 GiB over 8 nodes of 8: every byte crosses into a node once for each of its devices' shares, not once a device.
constexpr hp::extent_t gathered_between_nodes() {
  hp::topology_value t;
  t.level_count = 2;
  t.level[0] = {"nvlink", 8, 450 * hp::gigabyte, 2 * hp::microsecond};
  t.level[1] = {"infiniband", hp::unbounded_group, 400 * hp::gigabit_per_second, 5 * hp::microsecond};
  const hp::mesh_shape m{1, {64}};
  const hp::sharded_program p = programs::one_move(layout_by(m, {0}), layout_by(m, {-1}), hp::shape{4 * hp::GiB});
  const auto load = hp::detail::loads_of_moves(p, hp::kinds_of_moves(p, hp::on_topology(t)));
  return hp::detail::elements_over(load[0], 1);
}
static_assert(gathered_between_nodes() == 4 * hp::GiB / 64 * 7, "the exchange would take 56 shares");

}  // namespace
