// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/memory_comparison.hpp>

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

/// The 22 billion parameters of Korthikanti et al.
constexpr hp::decoder gpt_22b() {
  hp::decoder d = hp::test::gpt2;
  d.vocabulary = 51200;
  d.hidden = 6144;
  d.layers = 48;
  d.attention.query_heads = d.attention.key_heads = 64;
  d.attention.head_dim = 96;
  d.feed_forward.width = 4 * 6144;
  d.positions = 2048;
  return d;
}

// Of the convention's own model each part of a layer that we keep as well has the convention's bytes.
TEST(MemoryComparison, PartsOfTheConventionsOwnModelAreItsBytes) {
  using part = hp::memory_part;
  hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
  for (const bool sequence_parallel : {false, true}) {
    const hp::decoder_plan p{
        .tp = 8, .micro_batches = 2, .sequence_parallel = sequence_parallel, .batch = 8, .sequence = 2048};
    const hp::memory_comparison c = hp::compare_with_megatron_2022(gpt_22b(), p, prices);
    ASSERT_TRUE(c.ok());
    for (const part each :
         {part::attention_gradients, part::feed_forward_gradients, part::attention_input, part::queries_and_keys,
          part::values, part::projection_input, part::feed_forward_input, part::feed_forward_inner})
      EXPECT_EQ(c.difference(each), 0) << name_of(each);
    const hp::extent_t one_tensor = 2 * 4 * 2048 * 6144 / (sequence_parallel ? 8 : 1);
    EXPECT_EQ(c.difference(part::norm_inputs), one_tensor);  // the input of the head's norm
    EXPECT_EQ(c.ours.of(part::dropout_masks), 0);
    EXPECT_EQ(c.ours.of(part::attention_scores), 4 * 4 * 2048 * 64 * 48 / 8);  // f32, one for each query and head
    // 2 bytes and a master copy of 4 against 4; two moments of 4 in both.
    for (const part each : {part::attention_parameters, part::feed_forward_parameters})
      EXPECT_EQ(c.ours.of(each), 2 * c.convention.of(each));
    EXPECT_EQ(3 * c.ours.of(part::attention_states), 2 * c.convention.of(part::attention_states));
  }
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
