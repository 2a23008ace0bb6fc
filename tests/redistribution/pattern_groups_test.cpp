// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/pattern_groups.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include <hyperparallel/redistribution/candidates.hpp>
#include <hyperparallel/redistribution/pattern_maker.hpp>
#include <hyperparallel/redistribution/step_levels.hpp>

#include "small_moves.hpp"

namespace {

namespace hp = hyperparallel;
using worlds::levels;
using worlds::link;

/// Topologies whose groups do not divide the axes of most meshes.
std::vector<hp::interconnect> topologies() {
  return {hp::on_topology(levels({link(1000, 5, 5), link(100, 50)})),
          hp::on_topology(levels({link(1000, 5, 2), link(300, 9, 6), link(100, 50)})),
          hp::on_topology(levels({link(1000, 5, 3), link(100, 0, 9), link(10, 50)})),
          hp::on_topology(levels({link(1000, 5, 2), link(300, 9, 10), link(200, 20, 20), link(100, 50)}))};
}

struct tally {
  int steps = 0, uneven = 0, above = 0;

  void run(const hp::layout_value& from, const hp::layout_value& to, const hp::shape& s, const hp::interconnect& net) {
    const hp::candidate_source all = hp::candidates_of(from, to, s, net);
    if (all.exchange.code != hp::move_code::ok) return;
    for (int c = 0; c < hp::move_candidate_count; ++c) {
      const hp::candidate_result built = hp::build_candidate(all, static_cast<hp::move_candidate>(c));
      if (built.code != hp::candidate_code::ok) continue;
      const hp::move_plan& plan = built.parts.part[0];
      for (int k = 0; k < plan.step_count; ++k) compare(plan.step[k], plan.shape, net);
    }
  }

  /// What running through all receivers counts.
  void compare(const hp::move_step& step, const hp::shape& s, const hp::interconnect& net) {
    hp::detail::step_digits digits;
    hp::step_levels told;
    if (!hp::detail::digits_of_step(step, s, digits) || !hp::detail::levels_of_groups(digits, net, 2, told)) return;
    const hp::step_levels counted = hp::detail::count_step(step, s, net, 2);
    ++steps;
    ASSERT_EQ(told.code, counted.code);
    ASSERT_EQ(told.received, counted.received);
    // Uneven shares count as the largest for who collects or sends them.
    bool even = digits.shares == 1;
    for (int d = 0; d < digits.box.rank; ++d) even = even || digits.box.extent[d] % digits.shares == 0;
    const hp::extent_t now = hp::time_of(told, 2, net).picoseconds, exact = hp::time_of(counted, 2, net).picoseconds;
    if (even) {
      ASSERT_EQ(now, exact) << hp::name_of(step.kind);
    } else {
      ASSERT_GE(now, exact) << hp::name_of(step.kind);
      ++uneven;
      above += now > exact ? 1 : 0;
    }
  }
};

TEST(PatternGroups, CountWhatRunningThroughAllDevicesCounts) {
  std::mt19937 random(11);
  tally all;
  const std::vector<hp::interconnect> nets = topologies();
  for (const hp::mesh_shape& m : {hp::mesh_shape{1, {8}}, hp::mesh_shape{2, {2, 4}}, hp::mesh_shape{3, {2, 2, 2}},
                                  hp::mesh_shape{2, {3, 4}}, hp::mesh_shape{2, {8, 4}}, hp::mesh_shape{3, {4, 2, 4}},
                                  hp::mesh_shape{2, {6, 6}}, hp::mesh_shape{2, {16, 4}}}) {
    const std::vector<hp::layout_value> layouts = worlds::all_partial_layouts(m, 2, hp::reduce_op::sum);
    for (int i = 0; i < 400; ++i) {
      const hp::layout_value &from = layouts[random() % layouts.size()], &to = layouts[random() % layouts.size()];
      const hp::shape shapes[] = {hp::shape(48, 48), hp::shape(144, 24), hp::shape(24, 72), hp::shape(50, 10),
                                  hp::shape(16, 12)};
      all.run(from, to, shapes[random() % 5], nets[random() % nets.size()]);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GT(all.steps, 4000);
  EXPECT_GT(all.uneven, 50);
  EXPECT_LT(all.above, all.uneven / 2);
}

}  // namespace
