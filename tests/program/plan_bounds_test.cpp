// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/program/plan_bounds.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/program/plan_neighbours.hpp>

#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

/// Large enough for bounds to bind.
hp::decoder real(hp::decoder d) {
  d.vocabulary = 32000;
  d.hidden = 4096;
  d.layers = 6;
  d.attention = {.query_heads = 32, .key_heads = 8, .head_dim = 128, .rope_base = 10000.0};
  d.feed_forward = {.width = 14336};
  d.experts.experts = 8;
  d.experts.width = 4096;
  d.experts.shared_width = d.has_experts ? 4096 : 0;
  if (d.has_latents)
    d.latent_attention = {
        .heads = 32, .head_dim = 128, .rope_dim = 64, .value_dim = 128, .query_rank = 1024, .key_value_rank = 512};
  return d;
}

constexpr hp::full_mesh_value square() {
  hp::full_mesh_value m;
  m.level_count = 2;
  m.level[0] = {"column", 4, 20 * hp::gigabyte, hp::microsecond};
  m.level[1] = {"row", 4, 50 * hp::gigabyte, hp::microsecond};
  return m;
}

// Plans of 16 devices of a full mesh, whose products fill tiles or do not: the bound takes all private links at once, and
// operations without what tiles waste.
TEST(PlanBounds, NeverExceedTheEstimateOnAFullMesh) {
  int plans = 0;
  for (const hp::decoder& small : small_decoders::all()) {
    const hp::decoder d = real(small);
    hp::plan_prices prices(hp::h100::device, square());
    const hp::decoder_plan from{.zero = 1, .micro_batches = 2, .batch = 64, .sequence = 8192};
    hp::detail::visit_legal_degrees(d, from, 16, [&](const hp::decoder_plan& p) {
      const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
      ASSERT_TRUE(e.ok());
      ASSERT_LE(hp::time_bound(d, p, prices), e.evaluation.time) << "tp " << p.tp << " pp " << p.pp;
      ++plans;
    });
  }
  EXPECT_GT(plans, 50);
}

// Every plan of 16 devices: never above what the account says, and close to it for some.
TEST(PlanBounds, NeverExceedTheEstimate) {
  int plans = 0;
  double closest_time = 0, closest_memory = 0;
  std::vector<hp::decoder> decoders = small_decoders::all();
  decoders.push_back(small_decoders::grouped());
  decoders.back().attention.window = 1000;
  decoders.back().first_windowed = 2;
  for (const hp::decoder& small : decoders)
    for (const bool large : {false, true}) {
      hp::decoder d = large ? real(small) : small;
      if (small.attention.window > 0) d.attention.window = large ? 1000 : 10;
      hp::plan_prices prices(hp::matrix384::device, hp::matrix384::topology);
      for (const hp::extent_t devices : {1, 4, 16})
        for (const int micro_batches : {1, 4})
          for (const int zero : {0, 1, 2, 3})
            for (const int options : {0, 1, 2, 3}) {
              const hp::decoder_plan from{.zero = zero,
                                          .micro_batches = micro_batches,
                                          .recomputed = options % 2 == 1,
                                          .sequence_parallel = options >= 2,
                                          .batch = 64,
                                          .sequence = large ? 8192 : 48};
              hp::detail::visit_legal_degrees(d, from, devices, [&](const hp::decoder_plan& p) {
                const hp::plan_estimate e = hp::estimate_plan(d, p, prices);
                ASSERT_TRUE(e.ok());
                const hp::extent_t time = hp::time_bound(d, p, prices), memory = hp::memory_bound(d, p);
                ASSERT_LE(time, e.evaluation.time)
                    << "tp " << p.tp << " pp " << p.pp << " dp " << p.dp << " cp " << p.cp << " ep " << p.ep << " zero "
                    << p.zero << " again " << p.recomputed << " sp " << p.sequence_parallel << " experts "
                    << d.has_experts << " large " << large;
                ASSERT_LE(memory, e.evaluation.memory)
                    << "tp " << p.tp << " pp " << p.pp << " dp " << p.dp << " zero " << p.zero;
                ++plans;
                closest_time =
                    std::max(closest_time, static_cast<double>(time) / static_cast<double>(e.evaluation.time));
                closest_memory =
                    std::max(closest_memory, static_cast<double>(memory) / static_cast<double>(e.evaluation.memory));
              });
              if (testing::Test::HasFatalFailure()) return;
            }
    }
  EXPECT_GT(plans, 1000);
  EXPECT_GT(closest_time, 0.7);
  EXPECT_GT(closest_memory, 0.7);
}

}  // namespace
