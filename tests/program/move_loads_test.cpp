// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/program/move_loads.hpp>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/redistribution/step_price.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

hp::layout_value random_layout(std::mt19937& random, const hp::mesh_shape& m, int rank, bool with_terms) {
  hp::layout_value l;
  l.mesh = m;
  l.rank = rank;
  std::vector<int> place;
  for (int a = 0; a < m.axis_count; ++a) place.push_back(static_cast<int>(random() % static_cast<unsigned>(rank + 2)));
  for (int d = 0; d < rank; ++d)
    for (int a = 0; a < m.axis_count; ++a)
      if (place[static_cast<std::size_t>(a)] == d) hp::append_cut(l, {d, a, 1, m.size[a]});
  for (int a = 0; a < m.axis_count; ++a)
    if (with_terms && place[static_cast<std::size_t>(a)] == rank && m.size[a] > 1) l.partial[a] = hp::reduce_op::sum;
  return l;
}

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
    hp::sharded_program p;
    const hp::mesh_shape meshes[] = {{1, {8}}, {2, {4, 8}}, {3, {2, 4, 2}}, {2, {3, 4}}};
    p.mesh.shape = meshes[round % 4];
    hp::graph_tensor t;
    t.shape = hp::shape{192, 96};
    p.graph.tensor.push(t);
    p.value.push({0, random_layout(random, p.mesh.shape, 2, true), {}, -1});
    p.value.push({0, random_layout(random, p.mesh.shape, 2, false), {}, -1});
    p.move.push({0, 1, -1});
    const hp::program_moves kinds = hp::kinds_of_moves(p);
    const auto load = hp::loads_of_moves(p, kinds, net);
    const hp::move_plan plan = hp::plan_move(p.value[0].layout, p.value[1].layout, t.shape);
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

TEST(move_loads, of_a_ring_are_those_of_the_longest_hop) {
  hp::sharded_program p;
  p.mesh.shape = {1, {4}};
  hp::graph_tensor t;
  t.shape = hp::shape{16};
  p.graph.tensor.push(t);
  hp::layout_value l;
  l.mesh = p.mesh.shape;
  l.rank = 1;
  hp::append_cut(l, {0, 0, 1, 4});
  p.value.push({0, l, {}, -1});
  p.value.push({0, l, {0, 1}, -1});
  p.move.push({0, 1, -1});
  const hp::interconnect net = hp::on_topology(hp::matrix384::topology);
  const auto load = hp::loads_of_moves(p, hp::kinds_of_moves(p), net);
  EXPECT_EQ(load[0].elements[0], 0);
  EXPECT_EQ(load[0].elements[1], 4);
  EXPECT_EQ(load[0].messages[1], 1);
}

constexpr hp::extent_t peers_in_a_node() {
  hp::sharded_program p;
  p.mesh.shape = {2, {2, 32}};
  hp::graph_tensor t;
  t.shape = hp::shape{64, 32};
  p.graph.tensor.push(t);
  hp::layout_value l;
  l.mesh = p.mesh.shape;
  l.rank = 2;
  p.value.push({0, l, {}, -1});
  hp::append_cut(l, {0, 1, 1, 32});
  p.value.push({0, l, {}, -1});
  p.move.push({1, 0, -1});
  const hp::interconnect net = hp::on_topology(hp::matrix384::topology);
  const auto load = hp::loads_of_moves(p, hp::kinds_of_moves(p), net);
  return load[0].messages[0] * 10000 + load[0].messages[1] * 100 + load[0].messages[2];
}
static_assert(peers_in_a_node() == 1 * 10000 + 14 * 100 + 16);

}  // namespace
