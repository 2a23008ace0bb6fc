// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/step_levels.hpp>

#include <hyperparallel/redistribution/candidates.hpp>

#include "small_moves.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hp = hyperparallel;

namespace {

using worlds::levels;
using worlds::link;

/// Steps of all candidates between random layouts, each priced by its transfers.
struct sweep {
  int steps = 0, patterns = 0;

  void run(const hp::layout_value& from, const hp::layout_value& to, const hp::shape& s, const hp::interconnect& net) {
    const hp::candidate_source all = hp::candidates_of(from, to, s, net);
    if (all.exchange.code != hp::move_code::ok) return;
    std::vector<hp::extent_t> entries(static_cast<std::size_t>(hp::tally_size(net, hp::position_count(from.mesh))));
    for (int c = 0; c < hp::move_candidate_count; ++c) {
      const hp::candidate_result built = hp::build_candidate(all, static_cast<hp::move_candidate>(c));
      if (built.code != hp::candidate_code::ok) continue;
      const hp::move_plan& plan = built.parts.part[0];
      for (int k = 0; k < plan.step_count; ++k) {
        const hp::move_step& step = plan.step[k];
        const hp::move_tally tally = hp::detail::tally_in(entries.data(), net, hp::position_count(from.mesh));
        const hp::step_part part{&step, &plan.shape};
        const hp::extent_t bytes = 1 + steps % 4;
        const hp::step_price price = hp::price_step(&part, 1, net, bytes, tally);
        hp::extent_t received = 0;
        for (int p = 0; p < tally.positions; ++p) received += tally.received[p];
        const hp::step_levels load = hp::levels_of_step(step, plan.shape, net, bytes);
        ++steps;
        hp::detail::step_digits digits;
        hp::step_levels told;
        if (hp::detail::digits_of_step(step, plan.shape, digits) &&
            hp::detail::levels_of_pattern(digits, net, bytes, told))
          ++patterns;
        ASSERT_EQ(hp::time_of(load, bytes, net), price.time)
            << hp::name_of(static_cast<hp::move_candidate>(c)) << ", step " << k << ": " << hp::name_of(step.kind);
        ASSERT_EQ(load.received, received)
            << hp::name_of(static_cast<hp::move_candidate>(c)) << ", step " << k << ": " << hp::name_of(step.kind);
      }
    }
  }
};

std::vector<hp::interconnect> topologies() {
  return {hp::on_topology(levels({link(1000, 5, 4), link(100, 50)})),
          hp::on_topology(levels({link(1000, 5, 2), link(300, 9, 4), link(100, 50)})),
          hp::on_topology(levels({link(1000, 5, 8), link(100, 50)})),
          hp::on_topology(levels({worlds::with_shares(link(1000, 5, 4)), worlds::with_shares(link(100, 50))})),
          hp::on_topology(levels({link(70, 1)})),
          hp::on_topology(levels({link(1000, 5, 3), link(100, 0, 12), link(10, 50)})),
          hp::on_topology(levels({link(1000, 5, 6)}))};
}

TEST(StepLevels, IsWhatTheTransfersOfTheStepAddUpTo) {
  std::mt19937 random(7);
  sweep all;
  const std::vector<hp::interconnect> nets = topologies();
  for (const hp::mesh_shape& m : {hp::mesh_shape{1, {8}}, hp::mesh_shape{2, {2, 4}}, hp::mesh_shape{3, {2, 2, 2}},
                                  hp::mesh_shape{2, {3, 4}}, hp::mesh_shape{3, {2, 3, 2}}, hp::mesh_shape{2, {6, 2}},
                                  hp::mesh_shape{3, {1, 4, 4}}, hp::mesh_shape{3, {4, 2, 4}}}) {
    const std::vector<hp::layout_value> layouts = worlds::all_partial_layouts(m, 2, hp::reduce_op::sum);
    for (int i = 0; i < 400; ++i) {
      const hp::layout_value &from = layouts[random() % layouts.size()], &to = layouts[random() % layouts.size()];
      const hp::shape shapes[] = {hp::shape(48, 48), hp::shape(144, 24), hp::shape(24, 72), hp::shape(50, 10)};
      all.run(from, to, shapes[random() % 4], nets[random() % nets.size()]);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GT(all.steps, 5000);
  EXPECT_GT(all.patterns, 3000);
}

}  // namespace
