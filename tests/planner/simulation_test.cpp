// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/simulation.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/planner/estimate.hpp>

#include <layers/decoder_shapes.hpp>

#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

const hp::decoder_plan plans[] = {
    {.batch = 8, .sequence = 8},
    {.tp = 2, .dp = 2, .zero = 1, .batch = 8, .sequence = 8},
    {.dp = 4, .zero = 3, .recomputed = true, .batch = 8, .sequence = 8},
    {.tp = 2, .dp = 2, .cp = 2, .zero = 3, .micro_batches = 2, .recomputed = true, .batch = 8, .sequence = 8},
};

TEST(PlanSimulation, IsTheProgramThatIsEstimated) {
  hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  for (const hp::decoder& d : small_decoders::all())
    for (const hp::decoder_plan& p : plans) {
      const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
      const hp::simulated_plan s = hp::simulate_plan(d, p, prices, hp::GiB);
      ASSERT_TRUE(s.ok()) << to_text(s.code);
      EXPECT_GE(s.times.makespan, s.times.bound.most());
      EXPECT_GE(s.times.makespan, s.unhindered);
      EXPECT_LE(s.bytes, hp::GiB);
      EXPECT_GE(s.least_bytes, e.evaluation.memory);
      // One by one, numbers of all parameters are joined in more steps than folded.
      EXPECT_GE(s.times.busy[static_cast<int>(hp::resource::aic)], e.evaluation.times.compute_busy);
      EXPECT_NEAR(static_cast<double>(s.times.busy[static_cast<int>(hp::resource::aic)]) /
                      static_cast<double>(e.evaluation.times.compute_busy),
                  1.0, 0.05);
      if (p.micro_batches == 1) {
        EXPECT_NEAR(static_cast<double>(s.unhindered) / static_cast<double>(e.evaluation.time), 1.0, 0.1);
      }
    }
}

// Of real size what folding leaves out does not count.
TEST(PlanSimulation, OfARealModelIsCloseToTheEstimate) {
  hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  for (const hp::decoder_plan& p :
       {hp::decoder_plan{.tp = 8, .dp = 8, .zero = 1, .batch = 64, .sequence = 4096},
        hp::decoder_plan{.dp = 64, .zero = 3, .recomputed = true, .batch = 64, .sequence = 4096}}) {
    const hp::plan_estimate e = hp::estimate_plan(hp::test::llama3_8b, p, prices);
    const hp::simulated_plan s = hp::simulate_plan(hp::test::llama3_8b, p, prices, 64 * hp::GiB);
    ASSERT_TRUE(s.ok());
    EXPECT_NEAR(static_cast<double>(s.times.makespan) / static_cast<double>(e.evaluation.time), 1.0, 0.02);
    EXPECT_NEAR(static_cast<double>(s.least_bytes) / static_cast<double>(e.evaluation.memory), 1.0, 0.06);
  }
}

// A plan with one stage is simulated as a plan, one with several stage by stage.
TEST(PlanSimulation, OfAPipelineIsTheReplayOfItsStages) {
  hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  for (const hp::decoder& d : small_decoders::all())
    for (hp::decoder_plan p : plans) {
      EXPECT_FALSE(hp::simulate_plan(d, p, prices, hp::GiB).is_replayed());
      p.pp = 2;
      if (!hp::check_plan(d, p, hp::device_count_of(p)).ok()) continue;
      const hp::simulated_plan s = hp::simulate_plan(d, p, prices, hp::GiB);
      const hp::simulated_pipeline stages = hp::simulate_pipeline(d, p, prices, hp::GiB);
      ASSERT_TRUE(s.ok()) << to_text(s.code);
      EXPECT_TRUE(s.is_replayed());
      EXPECT_EQ(s.times.makespan, stages.replay.makespan());
      EXPECT_EQ(s.bubble, stages.replay.bubble);
      EXPECT_EQ(s.handed, stages.replay.handed);
      EXPECT_EQ(s.bytes, stages.bytes());
      EXPECT_GE(s.times.makespan, s.times.bound.most());
      EXPECT_GT(s.bubble, 0);
      const hp::simulated_plan full = hp::simulate_plan(d, p, prices, s.least_bytes / 4);
      EXPECT_EQ(full.code, hp::simulated_plan_code::exceeds_memory);
      EXPECT_GT(full.least_bytes, s.least_bytes / 4);
      hp::plan_estimate e = hp::estimate_plan(d, p, prices);
      e.simulated = s;
      EXPECT_EQ(e.time(), s.times.makespan);
      EXPECT_EQ(e.computing() + e.exposed(), e.time());
      EXPECT_EQ(e.least(), s.times.bound.most());
    }
}

TEST(PlanSimulation, SaysWhyThereIsNone) {
  hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  const hp::decoder d = small_decoders::dense();
  EXPECT_EQ(hp::simulate_plan(d, {.pp = 2, .dp = 2049, .batch = 2049, .sequence = 8}, prices, hp::GiB).code,
            hp::simulated_plan_code::has_too_many_devices);
  EXPECT_EQ(hp::simulate_plan(d, {.dp = 4096, .batch = 4096, .sequence = 8}, prices, hp::GiB).code,
            hp::simulated_plan_code::has_too_many_devices);
  const hp::simulated_plan large = hp::simulate_plan(d, plans[0], prices, 1);
  EXPECT_EQ(large.code, hp::simulated_plan_code::exceeds_memory);
  EXPECT_FALSE(large.ok());
  EXPECT_EQ(large.lookahead, 0);
  EXPECT_GT(large.times.makespan, 0);
  EXPECT_EQ(hp::simulated_plan{}.code, hp::simulated_plan_code::not_asked);
  for (int c = 0; c <= static_cast<int>(hp::simulated_plan_code::exceeds_memory); ++c)
    EXPECT_STRNE(to_text(static_cast<hp::simulated_plan_code>(c)), "unknown");
}

}  // namespace
