// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/program/memory_comparison.hpp>

#include <gtest/gtest.h>

#include <layers/decoder_shapes.hpp>

#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

// Degrees, options and sizes of models with grouped queries: the named differences are all of the difference.
TEST(MemoryComparison, DifferencesAddUpToTheByte) {
  hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  int plans = 0;
  for (const hp::decoder& d : {small_decoders::dense(), small_decoders::grouped(), small_decoders::biased(),
                               small_decoders::side_by_side(), hp::test::llama3_8b, hp::test::qwen25_0_5b})
    for (const int tp : {1, 2, 3, 8})
      for (const int pp : {1, 2, 8})
        for (const int dp : {1, 3})
          for (const int micro_batches : {1, 4})
            for (const int zero : {0, 3})
              for (const bool recomputed : {false, true}) {
                const hp::decoder_plan p{.tp = tp,
                                         .pp = pp,
                                         .dp = dp,
                                         .zero = zero,
                                         .micro_batches = micro_batches,
                                         .recomputed = recomputed,
                                         .sequence_parallel = zero == 0,
                                         .batch = 24,
                                         .sequence = 48};
                if (!hp::check_plan(d, p, hp::device_count_of(p)).ok()) continue;
                const hp::memory_comparison c = hp::compare_with_megatron_2022(d, p, prices);
                ASSERT_TRUE(c.ok());
                hp::extent_t sum = 0;
                for (int part = 0; part < hp::memory_part_count; ++part)
                  sum += c.difference(static_cast<hp::memory_part>(part));
                const hp::extent_t account = hp::estimate_plan(d, p, prices).evaluation.memory;
                ASSERT_EQ(c.convention.total() + sum, account);
                ASSERT_EQ(c.difference(), sum);
                const hp::megatron_model m{d.layers, d.hidden, d.attention.query_heads};
                const hp::extent_t sequences = 24 / micro_batches / dp;
                EXPECT_EQ(c.convention, hp::megatron_2022(m, {sequences, 48, tp, pp, 1, zero == 0,
                                                              recomputed ? hp::megatron_recomputation::full
                                                                         : hp::megatron_recomputation::off}));
                ++plans;
              }
  EXPECT_GT(plans, 100);
}

TEST(MemoryComparison, WhatTheConventionDoesNotHaveIsRefused) {
  hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  const hp::decoder_plan one{.batch = 4, .sequence = 8};
  EXPECT_EQ(hp::compare_with_megatron_2022(small_decoders::with_experts(), one, prices).code,
            hp::convention_code::model_has_experts);
  hp::decoder latent = small_decoders::latent();
  latent.has_experts = false;
  EXPECT_EQ(hp::compare_with_megatron_2022(latent, one, prices).code, hp::convention_code::model_has_latents);
  const hp::memory_comparison c =
      hp::compare_with_megatron_2022(small_decoders::dense(), {.cp = 2, .batch = 4, .sequence = 8}, prices);
  EXPECT_EQ(c.code, hp::convention_code::degree_is_unknown);
  EXPECT_STREQ(c.degree, "cp");
  hp::decoder wide = small_decoders::dense();
  wide.hidden = hp::extent_t{1} << 31;
  EXPECT_EQ(hp::compare_with_megatron_2022(wide, one, prices).code, hp::convention_code::too_large);
}

}  // namespace
