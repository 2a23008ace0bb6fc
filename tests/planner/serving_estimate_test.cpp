// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/serving_estimate.hpp>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/hardware/presets.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include <layers/decoder_shapes.hpp>

#include "small_decoders.hpp"

namespace hp = hyperparallel;

namespace {

constexpr hp::interconnect h100_links = hp::interconnect_of(hp::h100::topology);
constexpr hp::interconnect ub = hp::interconnect_of(hp::matrix384::topology);

/// 4 Tflop/s, 1 TB/s and 100 GB/s to DRAM, all of which are reached.
constexpr hp::device_value round_numbers() {
  hp::device_value d = hp::matrix384::device;
  d.matrix_flops[0] = 4 * hp::teraflops;
  d.gmm_cold = hp::full_efficiency;
  d.tier[0] = {hp::memory_kind::hbm, 64 * hp::GiB, 1000 * hp::gigabyte, hp::full_efficiency, 0};
  d.tier[1] = {hp::memory_kind::dram, 64 * hp::GiB, 100 * hp::gigabyte, hp::full_efficiency, hp::microsecond};
  return d;
}

// By hand and by the compiler: decode of one sequence of 1000 tokens reads the parameters but for the embedding's
// table, and 128 KiB for each token, at 1 TB/s; multiplies them twice, and 4 · 4096 · 32 times a cached token.
constexpr hp::serving_estimate by_hand =
    hp::estimate_serving(hp::test::llama3_8b, {.context = 1000}, round_numbers(), h100_links);
constexpr hp::extent_t streamed = 8'030'261'248 - 128'256 * 4096;
static_assert(by_hand.ok());
static_assert(by_hand.decode.of(hp::serving_roof::hbm_bytes) == 2 * streamed + 1000 * 131'072);
static_assert(by_hand.decode.of(hp::serving_roof::operations) == (2 * streamed + 1000 * 32 * 4 * 4096) / 4);
static_assert(by_hand.decode.of(hp::serving_roof::links) == 0 && by_hand.decode.of(hp::serving_roof::dram_bytes) == 0);
static_assert(by_hand.decode.bound() == hp::serving_roof::hbm_bytes &&
              by_hand.prefill.bound() == hp::serving_roof::operations);
static_assert(by_hand.token_cache_bytes == 131'072);
// Two of 32 layers in DRAM: 8 KiB a token at 100 GB/s, and a microsecond for each copy.
constexpr hp::serving_estimate two_layers =
    hp::estimate_serving(hp::test::llama3_8b, {.context = 1000, .offloaded_layers = 2}, round_numbers(), h100_links);
static_assert(two_layers.decode.of(hp::serving_roof::dram_bytes) == 8192 * 1000 * 10 + 2 * hp::microsecond);
static_assert(two_layers.offloaded == 8192 * 1000 && two_layers.decode.hides_dram());

template <class Visit>
void visit_plans(const Visit& visit) {
  for (const hp::decoder& d : small_decoders::all())
    for (const int devices : {1, 2, 4, 6, 12})
      for (const hp::extent_t offloaded : {0, 1, 4})
        hp::visit_serving_plans(d, {.batch = 5, .context = 9, .chunk = 4, .offloaded_layers = offloaded}, devices,
                                [&](const hp::serving_plan& p) { visit(d, p); });
}

// Time is at least each roof, of as many stages as there are; it does not fall with the context, nor with the batch in
// decode.
TEST(ServingEstimate, TimeIsAtLeastEachRoofAndDoesNotFall) {
  visit_plans([](const hp::decoder& d, hp::serving_plan p) {
    hp::serving_estimate last;
    for (p.context = 1; p.context <= 12; ++p.context) {
      const hp::serving_estimate e = hp::estimate_serving(d, p, round_numbers(), ub);
      ASSERT_TRUE(e.ok());
      for (const hp::serving_phase* phase : {&e.prefill, &e.decode}) {
        for (const hp::extent_t roof : phase->roof) EXPECT_GE(phase->time, p.pp * roof);
        EXPECT_EQ(phase->of(phase->bound()), *std::max_element(phase->roof, phase->roof + hp::serving_roof_count));
        EXPECT_GT(phase->tokens_per_second, 0);
      }
      EXPECT_GE(e.prefill.time, last.prefill.time);
      EXPECT_GE(e.decode.time, last.decode.time);
      EXPECT_GE(e.memory.peak(), last.memory.peak());
      hp::serving_plan more = p;
      more.batch *= 2;
      EXPECT_GE(hp::estimate_serving(d, more, round_numbers(), ub).decode.time, e.decode.time);
      last = e;
    }
  });
}

// Without DRAM there is no time for what lies in it; links that do not join the devices have no time either; sizes that
// leave 64 bits say so.
TEST(ServingEstimate, WhatHasNoPriceSaysWhy) {
  hp::device_value without = round_numbers();
  without.tier_count = 1;
  const hp::decoder d = small_decoders::dense();
  EXPECT_TRUE(hp::estimate_serving(d, {.context = 8}, without, ub).ok());
  EXPECT_EQ(hp::estimate_serving(d, {.context = 8, .offloaded_layers = 1}, without, ub).decode.code,
            hp::cost_code::rate_is_not_positive);
  const hp::interconnect pair = hp::interconnect_of(hp::ascend_910c_die::topology);
  EXPECT_EQ(hp::estimate_serving(d, {.tp = 4, .context = 8}, round_numbers(), pair).decode.code,
            hp::cost_code::ranks_are_not_connected);
  EXPECT_EQ(
      hp::estimate_serving(hp::test::deepseek_v3, {.batch = hp::largest_plan_number, .context = hp::extent_t{1} << 40},
                           round_numbers(), ub)
          .prefill.code,
      hp::cost_code::overflow);
}

// A decode step reads of the routed experts no more than tokens choose, and no more than there are.
TEST(ServingEstimate, FewTokensReadFewExperts) {
  const hp::serving_amounts a = hp::serving_amounts_of(hp::test::deepseek_v3, {}, 0);
  const auto read = [&](hp::extent_t batch) {
    return hp::estimate_serving(hp::test::deepseek_v3, {.batch = batch, .context = 1}, round_numbers(), ub)
        .decode.of(hp::serving_roof::hbm_bytes);
  };
  const hp::extent_t expert = 2 * a.expert_parameters, token = 70'272;
  EXPECT_EQ(read(1), 2 * (a.blocks + a.head) + 8 * expert + token);
  EXPECT_EQ(read(3), 2 * (a.blocks + a.head) + 24 * expert + 3 * token);
  EXPECT_EQ(read(100), 2 * (a.blocks + a.head) + 256 * expert + 100 * token);
}

}  // namespace
