// SPDX-License-Identifier: Apache-2.0
// Moves on full meshes: as chosen by time, and every pair of layouts has a price.

#include <hyperparallel/redistribution/fastest_moves.hpp>

#include "small_moves.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <vector>

namespace hp = hyperparallel;

namespace {

using worlds::full_mesh;
using worlds::levels;
using worlds::link;

/// Three interconnects of 16 devices.
std::vector<hp::interconnect> nets_of_16() {
  return {hp::on_topology(levels({link(1000, 5, 2), link(300, 9, 8), link(100, 50)})), full_mesh({2, {4, 4}}),
          full_mesh({4, {2, 2, 2, 2}})};
}

struct pricing {
  hp::extent_t pairs = 0, moves = 0, refused = 0;

  void run(const hp::layout_value& from, const hp::layout_value& to, const hp::shape& s, hp::fastest_moves& on) {
    ++pairs;
    if (hp::plan_move(from, to, s).code != hp::move_code::ok) {
      ++refused;
      return;
    }
    const hp::move_load load = on.load_of(from, to, s, 2);
    const hp::time_cost time = hp::time_of(load, 2, on.links());
    ASSERT_TRUE(time.ok());
    ASSERT_EQ(time.picoseconds > 0, hp::detail::received_by_all(load) > 0);
    moves += time.picoseconds > 0 ? 1 : 0;
  }
};

/// All ordered pairs of the layouts of a 2x2x2x2 mesh that cut a tensor of one dim, every subset of the other axes partial
/// by sum, each on a topology of three levels, a two-dimensional and a four-dimensional full mesh. Of the layouts of a
/// tensor of two dims without partial states some pairs, and with HYPERPARALLEL_EXHAUSTIVE all.
TEST(MeshMove, EveryPairOfLayoutsOfFourAxesHasAPrice) {
  const hp::mesh_shape m{4, {2, 2, 2, 2}};
  const std::size_t stride = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 1 : 23;
  for (const hp::interconnect& net : nets_of_16()) {
    pricing all;
    hp::fastest_moves on(net);
    const std::vector<hp::layout_value> partial = worlds::all_partial_layouts(m, 1, hp::reduce_op::sum);
    for (const hp::layout_value& from : partial)
      for (const hp::layout_value& to : partial) {
        all.run(from, to, hp::shape(64), on);
        if (HasFatalFailure()) return;
      }
    EXPECT_EQ(all.pairs, 168 * 168);
    const std::vector<hp::layout_value> whole = worlds::all_layouts(m, 2);
    for (std::size_t i = 0; i < whole.size() * whole.size(); i += stride) {
      all.run(whole[i / whole.size()], whole[i % whole.size()], hp::shape(16, 32), on);
      if (HasFatalFailure()) return;
    }
    EXPECT_EQ(all.refused, 0);
    EXPECT_GT(all.moves, 25000);
  }
}

/// Random pairs, of tensors that the cuts divide and others, on meshes that are cut where the links are and others: the
/// price is that of the choice by time, and where there is none the exchange is relayed.
TEST(MeshMove, IsTheOneThatIsChosenByTime) {
  std::mt19937 random(5);
  int staged = 0, in_parts = 0, relayed = 0;
  struct world {
    hp::mesh_shape layouts, links;
  };
  for (const world& w :
       {world{{2, {4, 4}}, {2, {4, 4}}}, world{{4, {2, 2, 2, 2}}, {2, {4, 4}}}, world{{2, {4, 4}}, {4, {2, 2, 2, 2}}},
        world{{1, {32}}, {2, {8, 8}}}, world{{2, {3, 2}}, {2, {3, 4}}}, world{{2, {3, 4}}, {3, {2, 2, 4}}},
        world{{2, {2, 3}}, {1, {6}}}}) {
    const hp::interconnect net = full_mesh(w.links);
    hp::fastest_moves on(net);
    const std::vector<hp::layout_value> layouts = worlds::all_partial_layouts(w.layouts, 2, hp::reduce_op::sum);
    for (int round = 0; round < 300; ++round) {
      const hp::layout_value &from = layouts[random() % layouts.size()], &to = layouts[random() % layouts.size()];
      const hp::shape s = round % 3 == 0 ? hp::shape(5, 33) : hp::shape(96, 64);
      std::vector<hp::extent_t> entries(static_cast<std::size_t>(hp::tally_size(net, hp::position_count(w.layouts))));
      const hp::chosen_move chosen =
          hp::choose_move(from, to, s, {hp::objective::time, net, 2, 0, false}, entries.data());
      if (chosen.code == hp::choice_code::move_is_refused) continue;
      const hp::move_load load = on.load_of(from, to, s, 2);
      const hp::time_cost time = hp::time_of(load, 2, net);
      if (chosen.code == hp::choice_code::links_carry_no_candidate) {
        ++relayed;
        ASSERT_TRUE(time.ok());
        ASSERT_GT(time.picoseconds, 0);
        continue;
      }
      ASSERT_EQ(chosen.code, hp::choice_code::ok);
      ASSERT_EQ(time, chosen.figures.time);
      if (hp::detail::received_by_all(load) == 0) continue;
      ASSERT_EQ(load.candidate, chosen.candidate);
      ASSERT_EQ(hp::detail::received_by_all(load), chosen.figures.received_total);
      ASSERT_EQ(load.step.size, chosen.figures.steps);
      staged += load.step.size > 1 ? 1 : 0;
      in_parts += load.candidate >= hp::move_candidate::both_orders ? 1 : 0;
    }
  }
  EXPECT_GT(staged, 300);
  EXPECT_GT(in_parts, 30);
  EXPECT_GT(relayed, 30);
}

/// A gather of 8 GiB over the 1024 devices of a 4x4x8x8 mesh: links along all axes carry what the others have.
TEST(MeshMove, OfManyDevicesIsCountedThroughAFew) {
  const hp::mesh_shape m{1, {1024}};
  const hp::interconnect net = full_mesh({4, {4, 4, 8, 8}});
  hp::fastest_moves on(net);
  const hp::move_load load =
      on.load_of(worlds::cut_by(m, 1, {{0, 0}}), hp::replicated(m, 1), hp::shape(hp::extent_t{1} << 32), 2);
  ASSERT_TRUE(hp::time_of(load, 2, net).ok());
  hp::extent_t received = 0;
  for (int a = 0; a < 4; ++a) received += (net.mesh.size[a] - 1) * hp::detail::elements_over(load, a);
  EXPECT_EQ(received, (hp::extent_t{1} << 32) / 1024 * 1023);
}

}  // namespace
