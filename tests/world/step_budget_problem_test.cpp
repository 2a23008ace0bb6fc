// SPDX-License-Identifier: Apache-2.0
// What the start of a world plans for a step with a budget: the problem that its type was accepted by.
#include <hyperparallel/world/step_budget.hpp>

#include <gtest/gtest.h>

#include <cstdint>

#include <hyperparallel/pipeline/schedules/one_forward_one_backward.hpp>
#include <hyperparallel/step/pipelined_step.hpp>

#include "step/two_layers.hpp"

namespace {

namespace hp = hyperparallel;

using namespace two_layers;
using piped = hp::pipelined<hp::one_forward_one_backward, 2>;

TEST(step_budget_problem, is_the_one_that_the_type_was_planned_for) {
  using within = step_on<hp::matrix384, hp::f32, piped, hp::offloaded_within<20000>, hp::offloading<"*moment*", 1>>;
  const hp::sharded_program p = within::evaluated::unrolled();
  const hp::program_options o = hp::options_of_step<within>(p);
  const hp::tier_hardware tiers = hp::tiers_of(hp::matrix384::device, 20000);
  EXPECT_EQ(o.budget.bytes, tiers.tier[0].capacity);
  ASSERT_EQ(o.budget.tiers.size() + 1, static_cast<std::size_t>(tiers.tier.size));
  for (std::size_t t = 0; t < o.budget.tiers.size(); ++t) {
    const hp::offload_tier slow = tiers.tier[static_cast<int>(t) + 1];
    EXPECT_EQ(o.budget.capacity[t], slow.capacity);
    for (const int link : {slow.in_link, slow.out_link})
      EXPECT_EQ(o.budget.tiers[t].bytes_per_second, tiers.link[link].bytes_per_second);
  }
  ASSERT_EQ(o.budget.rules.size(), 1u);
  EXPECT_STREQ(o.budget.rules[0].pattern, "*moment*");
  const hp::program_moves moves = hp::kinds_of_moves(p, o.topology);
  EXPECT_EQ(
      hp::offload_parts(p, moves, hp::storage_uses(p), hp::matrix384::device, within::evaluated::settings().offload),
      within::offload);
  hp::growing_array<hp::extent_t> duration;
  for (const std::int64_t d : o.budget.step_duration) duration.push(d);
  hp::offloading_options how{.planning = o.budget.planning, .links = o.topology};
  how.rules.push(o.budget.rules[0]);
  const hp::planned_parts plans = hp::plan_parts(p, moves, duration, tiers, how);
  ASSERT_TRUE(plans.ok());
  ASSERT_EQ(plans.plan.size, 2);
  hp::extent_t longest = 0, most = 0;
  for (const hp::planned_part& one : plans.plan) {
    longest = hp::larger(longest, one.planned.certificate.time);
    most = hp::larger(most, one.planned.certificate.bytes_in + one.planned.certificate.bytes_out);
  }
  EXPECT_EQ(longest, within::offload.step_time);
  EXPECT_EQ(most, within::offload.bytes_in + within::offload.bytes_out);
}

}  // namespace
