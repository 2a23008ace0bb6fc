// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/estimate.hpp>

#include <gtest/gtest.h>

#include <layers/decoder_shapes.hpp>

#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

const hp::decoder_plan plans[] = {
    {.batch = 8, .sequence = 8},
    {.tp = 2, .dp = 2, .zero = 1, .batch = 8, .sequence = 8},
    {.tp = 2, .dp = 2, .cp = 2, .zero = 3, .micro_batches = 2, .recomputed = true, .batch = 8, .sequence = 8},
    {.tp = 2, .pp = 2, .micro_batches = 4, .batch = 8, .sequence = 8},
    {.pp = 2, .dp = 2, .zero = 2, .micro_batches = 2, .sequence_parallel = false, .batch = 8, .sequence = 8},
};

TEST(PlanEstimate, KindsAddUpToTheMemoryAndTheBoundHolds) {
  hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  for (const hp::decoder& d : small_decoders::all())
    for (const hp::decoder_plan& p : plans) {
      const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
      ASSERT_TRUE(e.ok());
      hp::extent_t sum = e.passing;
      for (const hp::extent_t held : e.held) {
        EXPECT_GE(held, 0);
        sum += held;
      }
      EXPECT_GE(e.passing, 0);
      EXPECT_EQ(sum, e.evaluation.memory);
      EXPECT_GT(e.bound, 0);
      EXPECT_LE(e.bound, e.evaluation.time);
      EXPECT_GE(e.exposed(), 0);
      EXPECT_GT(hp::model_use(e, prices.device()), 0.0);
      EXPECT_LT(hp::model_use(e, prices.device()), 1.0);
    }
}

// One device holds all parameters and two states in f32, receives nothing and has the time of the search's evaluation.
TEST(PlanEstimate, OneDeviceHoldsTheModel) {
  const hp::decoder d = small_decoders::dense();
  hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  const hp::plan_estimate e = hp::estimate_plan(d, plans[0], prices);
  const hp::extent_t parameters = 4 * hp::parameters_of(d).total();
  EXPECT_GE(e.held[static_cast<int>(hp::memory_class::parameters)], parameters);
  EXPECT_GE(e.held[static_cast<int>(hp::memory_class::states)], 2 * parameters);
  for (const hp::extent_t bytes : e.received) EXPECT_EQ(bytes, 0);
  EXPECT_EQ(e.evaluation, hp::evaluate_plan(hp::training_graph_of(d, plans[0]), hp::strategy_of(plans[0]), 1, prices));
}

// Without a pipeline the bytes of levels are those of the program's account.
TEST(PlanEstimate, LevelsReceiveWhatTheAccountSays) {
  hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  for (const hp::decoder& d : small_decoders::all())
    for (const hp::decoder_plan& p : plans) {
      if (p.pp > 1) continue;
      const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
      const hp::step_account a =
          hp::account_on<hp::matrix384>(hp::partition(hp::training_graph_of(d, p), hp::strategy_of(p)));
      for (int l = 0; l < hp::max_link_levels; ++l) EXPECT_EQ(e.received[l], a.traffic.by_level[l]);
    }
}

// The longest steps that are counted have a time; beyond, nothing wraps: the code says overflow.
TEST(PlanEstimate, WhatCannotBeCountedIsRefused) {
  hp::device_value slow = hp::matrix384::device;
  for (std::int64_t& rate : slow.matrix_flops) rate = 100 * hp::gigaflops;
  hp::plan_prices prices(slow, hp::matrix384::topology);
  const hp::decoder d = hp::test::deepseek_v3;
  int counted = 0, refused = 0;
  hp::extent_t last = 0;
  for (hp::extent_t batch = 64; batch <= hp::largest_plan_number; batch *= 2) {
    const hp::decoder_plan p{
        .tp = 8, .pp = 4, .dp = 8, .zero = 1, .recomputed = true, .batch = batch, .sequence = 4096};
    ASSERT_TRUE(hp::check_plan(d, p, hp::device_count_of(p)).ok());
    const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
    EXPECT_TRUE(hp::plan_is_countable(d, p) || !e.ok());
    if (e.ok()) {
      EXPECT_EQ(refused, 0);
      EXPECT_GT(e.evaluation.time, last);
      EXPECT_LE(e.bound, e.evaluation.time);
      EXPECT_GT(static_cast<double>(e.evaluation.time) / 1e12, hp::model_operations_of(d, batch, 4096) / 256 / 1e11);
      last = e.evaluation.time;
      ++counted;
    } else {
      EXPECT_EQ(e.evaluation.code, hp::cost_code::overflow);
      EXPECT_EQ(e.evaluation.time, hp::not_counted);
      ++refused;
    }
  }
  EXPECT_GT(counted, 3);
  EXPECT_GT(refused, 3);
}

// A step of 16384 devices is, with the batch of published runs.
TEST(PlanEstimate, LargeClustersAreCounted) {
  hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  const hp::plan_estimate e = hp::estimate_plan(
      hp::test::deepseek_v3, {.tp = 8, .dp = 32, .ep = 64, .zero = 1, .batch = 16384, .sequence = 4096}, prices);
  ASSERT_TRUE(e.ok());
  EXPECT_GT(e.evaluation.time, 0);
}

TEST(PlanEstimate, ModelOperationsAreTheConvention) {
  hp::decoder d = small_decoders::dense();
  const double n = static_cast<double>(hp::parameters_of(d).total() - hp::parameters_of(d).embedding);
  // 12 · layers · heads · width · sequence a token.
  EXPECT_EQ(hp::model_operations_of(d, 3, 8), (6 * n + 12 * 2 * 4 * 4 * 8) * 3 * 8);
  d.tied = true;
  EXPECT_EQ(hp::model_operations_of(d, 3, 8), (6 * n + 12 * 2 * 4 * 4 * 8) * 3 * 8);
  d.attention.window = 2;
  EXPECT_EQ(hp::model_operations_of(d, 3, 8), (6 * n + 12 * 2 * 4 * 4 * 2) * 3 * 8);
}

}  // namespace
