// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/simulated_plan.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include <hyperparallel/hardware/presets.hpp>

#include <lowering/broken_tables.hpp>

namespace hp = hyperparallel;

namespace {

const hp::interconnect links = hp::interconnect_of(hp::matrix384::topology);

TEST(SimulatedPlan, IsThePlanOfTheFastestLookaheadWithinTheMemory) {
  int plans = 0, ahead = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    SCOPED_TRACE(hp::named_strategy_at(i).name);
    const hp::sharded_program p = programs::program_of(hp::named_strategy_at(i).name, 4, 1 + i % 2);
    if (p.status.code != hp::strategy_code::ok) continue;
    const hp::simulated_plan roomy = hp::simulate_unrolled(p, links, hp::matrix384::device, hp::GiB);
    const hp::clocked_plan c = hp::lower_fastest(p, {.topology = links}, hp::matrix384::device, hp::GiB);
    ASSERT_TRUE(roomy.ok() && roomy.is_clocked() && !roomy.is_replayed());
    EXPECT_EQ(roomy.times, c.lowered.times);
    EXPECT_EQ(roomy.bytes, c.bytes());
    EXPECT_GE(roomy.times.makespan, roomy.times.bound.most());
    EXPECT_GE(roomy.times.makespan, roomy.unhindered);
    // With no more than the least memory there is a plan, no faster; with less there is none.
    const hp::simulated_plan tight = hp::simulate_unrolled(p, links, hp::matrix384::device, roomy.least_bytes);
    ASSERT_TRUE(tight.ok());
    EXPECT_LE(tight.bytes, roomy.least_bytes);
    EXPECT_GE(tight.times.makespan, roomy.times.makespan);
    const hp::simulated_plan none = hp::simulate_unrolled(p, links, hp::matrix384::device, 1);
    EXPECT_EQ(none.code, hp::simulated_plan_code::exceeds_memory);
    EXPECT_FALSE(none.ok());
    ++plans;
    ahead += roomy.lookahead > 0;
  }
  EXPECT_GE(plans, 20);
  EXPECT_GE(ahead, 3);
}

TEST(SimulatedPlan, SaysWhyThereIsNone) {
  hp::sharded_program wide = programs::program_of("zero1", 4, 1);
  wide.mesh.shape.size[0] = 4096;
  EXPECT_EQ(hp::simulate_unrolled(wide, links, hp::matrix384::device, hp::GiB).code,
            hp::simulated_plan_code::has_too_many_devices);
  EXPECT_EQ(hp::simulate_unrolled(programs::program_of("zero1", 3, 1), links, hp::matrix384::device, hp::GiB).code,
            hp::simulated_plan_code::is_not_lowered);
  EXPECT_EQ(hp::simulated_plan{}.code, hp::simulated_plan_code::not_asked);
  std::set<std::string> texts;
  for (int c = 0; c <= static_cast<int>(hp::simulated_plan_code::exceeds_memory); ++c) {
    EXPECT_STRNE(to_text(static_cast<hp::simulated_plan_code>(c)), "unknown");
    EXPECT_TRUE(texts.insert(to_text(static_cast<hp::simulated_plan_code>(c))).second);
  }
}

}  // namespace
