// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/program/move_loads.hpp>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/redistribution/step_price.hpp>

#include <program/one_move.hpp>

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
  const hp::move_tally tally = hp::tally_in(entries.data(), net, positions);
  for (int i = 0; i < plan.step_count; ++i) {
    const hp::step_part part{&plan.step[i], &plan.shape};
    time = hp::then(time, hp::price_step(&part, 1, net, bytes, tally).time);
  }
  return time;
}

TEST(move_loads, add_up_and_cost_what_the_emitted_steps_cost) {
  std::mt19937 random(41);
  const hp::interconnect net = hp::on_topology(hp::matrix384::topology);
  int exact = 0, moves = 0;
  for (int round = 0; round < 600; ++round) {
    const hp::mesh_shape meshes[] = {{1, {8}}, {2, {4, 8}}, {3, {2, 4, 2}}, {2, {3, 4}}};
    const hp::mesh_shape& m = meshes[round % 4];
    const hp::layout_value from = programs::random_layout(random, m, 2, hp::reduce_op::sum);
    const hp::layout_value to = programs::random_layout(random, m, 2, hp::reduce_op::none);
    const hp::sharded_program p = programs::one_move(from, to, hp::shape{192, 96});
    const hp::program_moves kinds = hp::kinds_of_moves(p);
    const auto load = hp::loads_of_moves(p, kinds, net);
    const hp::move_plan plan = hp::plan_move(from, to, p.graph.tensor[0].shape);
    ASSERT_EQ(load.size, 1);
    EXPECT_EQ(load[0].code, hp::cost_code::ok);
    if (plan.step_count == 0) continue;
    EXPECT_LE(hp::detail::sum_of_elements(load[0]), kinds.kind[0].received);
    if (kinds.kind[0].share > 0) {
      EXPECT_EQ(hp::detail::sum_of_elements(load[0]), kinds.kind[0].received);
    }
    const hp::time_cost emitted = priced(plan, net, 4), told = hp::time_of(load[0], 4, net.topology);
    ASSERT_TRUE(emitted.ok() && told.ok());
    EXPECT_LE(told.picoseconds, emitted.picoseconds + 2);
    ++moves;
    const bool equal = told.picoseconds + 2 >= emitted.picoseconds;
    if (equal) ++exact;
    const bool native = plan.kind == hp::plan_kind::all_gather || plan.kind == hp::plan_kind::all_to_all ||
                        plan.kind == hp::plan_kind::reduce_scatter;
    if (native && plan.step_count == 1 && round % 4 != 3) {
      EXPECT_TRUE(equal) << hp::name_of(plan.kind) << ' ' << told.picoseconds << ' ' << emitted.picoseconds;
      EXPECT_EQ(hp::detail::sum_of_elements(load[0]), kinds.kind[0].received);
    }
  }
  EXPECT_GE(exact * 10, moves * 7);
}

/// What is known of another tensor between the same layouts tells the same as counting anew.
TEST(move_loads, of_another_size_are_scaled) {
  std::mt19937 random(43);
  const hp::interconnect net = hp::on_topology(hp::matrix384::topology);
  int known_before = 0;
  for (int round = 0; round < 400; ++round) {
    const hp::mesh_shape meshes[] = {{1, {8}}, {2, {4, 8}}, {3, {2, 4, 2}}, {2, {3, 4}}};
    const hp::mesh_shape& m = meshes[round % 4];
    const hp::layout_value from = programs::random_layout(random, m, 2, hp::reduce_op::sum);
    const hp::layout_value to = programs::random_layout(random, m, 2, hp::reduce_op::none);
    hp::detail::known_loads known;
    for (const hp::shape& shape : {hp::shape{192, 96}, hp::shape{384, 96}, hp::shape{192, 480}, hp::shape{960, 672}}) {
      const hp::sharded_program p = programs::one_move(from, to, shape);
      const hp::program_moves kinds = hp::kinds_of_moves(p);
      known_before += known.transfers.size;
      EXPECT_EQ(hp::detail::load_of(p, kinds.kind[0], net, known), hp::loads_of_moves(p, kinds, net)[0]);
    }
  }
  EXPECT_GE(known_before, 100);
}

TEST(move_loads, of_a_ring_are_those_of_the_longest_hop) {
  const hp::layout_value l = layout_by({1, {4}}, {0});
  const hp::sharded_program p = programs::one_move(l, l, hp::shape{16}, {}, {0, 1});
  const hp::interconnect net = hp::on_topology(hp::matrix384::topology);
  const auto load = hp::loads_of_moves(p, hp::kinds_of_moves(p), net);
  EXPECT_EQ(load[0].elements[0], 0);
  EXPECT_EQ(load[0].elements[1], 4);
  EXPECT_EQ(load[0].messages[1], 1);
}

constexpr hp::extent_t peers_in_a_node() {
  const hp::mesh_shape m{2, {2, 32}};
  const hp::sharded_program p = programs::one_move(layout_by(m, {1, -1}), layout_by(m, {-1, -1}), hp::shape{64, 32});
  const hp::interconnect net = hp::on_topology(hp::matrix384::topology);
  const auto load = hp::loads_of_moves(p, hp::kinds_of_moves(p), net);
  return load[0].messages[0] * 10000 + load[0].messages[1] * 100 + load[0].messages[2];
}
static_assert(peers_in_a_node() == 1 * 10000 + 14 * 100 + 16);

}  // namespace
