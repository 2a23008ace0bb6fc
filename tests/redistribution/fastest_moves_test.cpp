// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/fastest_moves.hpp>

#include "small_moves.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <vector>

namespace hp = hyperparallel;

namespace {

using worlds::levels;
using worlds::link;

struct comparison {
  int moves = 0, staged = 0, refused = 0;

  /// `known` has seen other moves on its links.
  void run(const hp::layout_value& from, const hp::layout_value& to, const hp::shape& s, hp::fastest_moves& known,
           hp::extent_t bytes) {
    const hp::interconnect& net = known.links();
    std::vector<hp::extent_t> entries(static_cast<std::size_t>(hp::tally_size(net, hp::position_count(from.mesh))));
    const hp::move_request request{hp::objective::time, net, bytes, 0, false};
    const hp::chosen_move chosen = hp::choose_move(from, to, s, request, entries.data());
    if (chosen.code == hp::choice_code::move_is_refused) return;
    const hp::move_load load = known.load_of(from, to, s, bytes);
    const hp::time_cost time = hp::time_of(load, bytes, net);
    ++moves;
    if (chosen.code == hp::choice_code::links_carry_no_candidate) {
      ++refused;
      ASSERT_EQ(time.code, hp::cost_code::ranks_are_not_connected);
      return;
    }
    ASSERT_EQ(chosen.code, hp::choice_code::ok);
    ASSERT_EQ(time, chosen.figures.time);
    ASSERT_EQ(load.candidate, chosen.candidate);
    ASSERT_EQ(hp::detail::received_by_all(load), chosen.figures.received_total);
    ASSERT_EQ(load.step.size, chosen.figures.steps);
    staged += chosen.candidate != hp::move_candidate::exchange ? 1 : 0;
  }
};

std::vector<hp::fastest_moves> topologies() {
  std::vector<hp::fastest_moves> nets;
  for (const hp::topology_value& t :
       {levels({link(1000, 5, 4), link(100, 50)}), levels({link(1000, 5, 2), link(300, 9, 8), link(100, 50)}),
        levels({link(100, 50, 8), link(1000, 5)}), levels({link(70, 1)}),
        levels({link(1000, 5, 3), link(100, 0, 12), link(10, 50)}), levels({link(1000, 5, 6)})})
    nets.emplace_back(hp::on_topology(t));
  return nets;
}

/// All pairs on the smallest meshes.
TEST(FastestMoves, IsOfTheMoveThatIsChosenByTime) {
  comparison all;
  std::vector<hp::fastest_moves> nets = topologies();
  for (const hp::mesh_shape& m : {hp::mesh_shape{1, {4}}, hp::mesh_shape{1, {6}}, hp::mesh_shape{2, {2, 2}},
                                  hp::mesh_shape{2, {3, 2}}, hp::mesh_shape{2, {2, 4}}}) {
    const std::vector<hp::layout_value> layouts = worlds::all_partial_layouts(m, 2, hp::reduce_op::sum);
    for (const hp::layout_value& from : layouts)
      for (const hp::layout_value& to : layouts)
        for (hp::fastest_moves& net : nets) {
          all.run(from, to, hp::shape(48, 48), net, 2);
          if (testing::Test::HasFatalFailure()) return;
        }
  }
  EXPECT_GT(all.moves, 4000);
  EXPECT_GT(all.staged, 500);
  EXPECT_GT(all.refused, 100);
}

/// Up to 64 devices, tensors of many sizes between the same layouts, even and uneven.
TEST(FastestMoves, OfOtherSizesIsAsExact) {
  const bool exhaustive = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr;
  comparison all;
  std::vector<hp::fastest_moves> nets = topologies();
  std::mt19937 random(23);
  for (const hp::mesh_shape& m :
       {hp::mesh_shape{1, {64}}, hp::mesh_shape{2, {8, 8}}, hp::mesh_shape{3, {4, 4, 4}}, hp::mesh_shape{3, {2, 3, 4}},
        hp::mesh_shape{3, {2, 2, 2}}, hp::mesh_shape{4, {2, 2, 2, 2}}, hp::mesh_shape{2, {3, 16}},
        hp::mesh_shape{3, {2, 8, 4}}, hp::mesh_shape{2, {12, 4}}, hp::mesh_shape{2, {5, 6}}}) {
    const std::vector<hp::layout_value> layouts = worlds::all_partial_layouts(m, 2, hp::reduce_op::sum);
    const int pairs = (exhaustive ? 8000 : 800) / hp::position_count(m);
    for (int i = 0; i < pairs; ++i) {
      const hp::layout_value &from = layouts[random() % layouts.size()], &to = layouts[random() % layouts.size()];
      hp::fastest_moves& net = nets[random() % nets.size()];
      for (const hp::shape& s : {hp::shape(576, 192), hp::shape(192, 2880), hp::shape(50, 12), hp::shape(6, 40),
                                 hp::shape(1 + static_cast<hp::extent_t>(random() % 300), 64)}) {
        all.run(from, to, s, net, 1 + static_cast<hp::extent_t>(random() % 4));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GT(all.moves, 400);
  EXPECT_GT(all.staged, 100);
}

}  // namespace
