// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/program/longest_context.hpp>

#include <hyperparallel/hardware/presets.hpp>

#include <gtest/gtest.h>

#include <layers/decoder_shapes.hpp>

#include "small_decoders.hpp"

namespace hp = hyperparallel;

namespace {

constexpr hp::interconnect ub = hp::interconnect_of(hp::matrix384::topology);

/// A device of `hbm` and `dram` bytes, whose rates are round numbers.
constexpr hp::device_value of_bytes(hp::extent_t hbm, hp::extent_t dram) {
  hp::device_value d = hp::matrix384::device;
  d.matrix_flops[0] = hp::teraflops;
  d.tier[0] = {hp::memory_kind::hbm, hbm, 1000 * hp::gigabyte, hp::full_efficiency, 0};
  d.tier[1] = {hp::memory_kind::dram, dram, 100 * hp::gigabyte, hp::full_efficiency, 0};
  return d;
}

constexpr hp::memory_reserve no_reserve{.library_bytes = 0, .allocator_per_mille = 0};

// By the compiler: Llama-3-8B has 128 KiB of cache a token beside 16.06 GB of weights and the activations of a chunk.
constexpr hp::device_value die = of_bytes(64 * hp::GiB, hp::capacity_not_stated);
constexpr hp::context_limit in_hbm = hp::longest_context(hp::test::llama3_8b, {.chunk = 1024}, die, no_reserve);
static_assert(in_hbm.bound == hp::context_bound::hbm_size);
static_assert(in_hbm.tokens ==
              (64 * hp::GiB - 2 * 8'030'261'248 - 4 * 128'256 - 2 * 1024 * (2 * 4096 + 3 * 14'336)) / (128 * 1024));
static_assert(hp::longest_context(hp::test::llama3_8b, {}, of_bytes(14 * hp::GiB, hp::GiB), no_reserve) ==
              hp::context_limit{0, hp::context_bound::hbm_size, 0});

/// Whether the plan fits, from the definition.
bool fits(const hp::decoder& d, const hp::serving_plan& p, const hp::device_value& device,
          const hp::memory_reserve& reserve, hp::extent_t context) {
  for (int stage = 0; stage < p.pp; ++stage) {
    const hp::serving_memory m = hp::serving_memory_of(hp::serving_amounts_of(d, p, stage), p, context);
    if (hp::verdict_of(m.peak(), reserve, device.tier[0].bytes) != hp::fit_verdict::fits) return false;
    if (m.offloaded > device.tier[1].bytes) return false;
  }
  return true;
}

// A context fits iff it is at most the longest; the memory that binds is the one that one token more does not fit into.
TEST(LongestContext, NoTokenMoreFits) {
  int bound[5] = {};
  for (const hp::decoder& d : small_decoders::all())
    for (const int devices : {1, 4, 6})
      for (const hp::extent_t hbm : {12'000, 40'000, 400'000, 40'000'000})
        for (const hp::extent_t dram : {1000, 1'000'000})
          for (const hp::memory_reserve& reserve :
               {no_reserve, hp::memory_reserve{500, 30}, hp::memory_reserve{20'000, 1}})
            hp::visit_serving_plans(d, {.batch = 3, .chunk = 8}, devices, [&](hp::serving_plan p) {
              for (p.offloaded_layers = 0; p.offloaded_layers <= 3; ++p.offloaded_layers) {
                const hp::device_value device = of_bytes(hbm, dram);
                const hp::context_limit limit = hp::longest_context(d, p, device, reserve);
                ++bound[static_cast<int>(limit.bound)];
                if (limit.tokens > 0) {
                  EXPECT_TRUE(fits(d, p, device, reserve, limit.tokens));
                }
                const bool ends =
                    limit.bound == hp::context_bound::positions || limit.bound == hp::context_bound::nothing;
                EXPECT_EQ(ends, limit.tokens == (d.positions > 0 ? d.positions : hp::largest_context));
                EXPECT_TRUE(ends || !fits(d, p, device, reserve, limit.tokens + 1));
              }
            });
  EXPECT_GT(bound[static_cast<int>(hp::context_bound::hbm_size)], 0);
  EXPECT_GT(bound[static_cast<int>(hp::context_bound::dram_size)], 0);
  EXPECT_GT(bound[static_cast<int>(hp::context_bound::positions)], 0);
}

// Windows in every layer: from the window on no token costs memory.
TEST(LongestContext, WindowsBindNothing) {
  hp::decoder d = small_decoders::dense();
  d.attention.window = 64;
  EXPECT_EQ(hp::longest_context(d, {.chunk = 8}, of_bytes(1'000'000, 0), no_reserve).bound, hp::context_bound::nothing);
}

// What is hidden is hidden and fits, no other number of layers gets further, and it is at least what fits without
// offloading.
TEST(LongestContext, HiddenIsTheBestOfAllNumbersOfLayers) {
  int longer = 0;
  for (const hp::decoder& d : small_decoders::all())
    for (const hp::extent_t hbm : {40'000, 100'000})
      for (const hp::extent_t dram : {10'000, 10'000'000})
        for (const auto step : {hp::serving_step::prefill, hp::serving_step::decode}) {
          hp::serving_plan p{.batch = 2, .chunk = 16};
          const hp::device_value device = of_bytes(hbm, dram);
          const hp::context_limit best = hp::longest_hidden_context(d, p, device, ub, no_reserve, step);
          const auto hidden = [&](hp::extent_t layers, hp::extent_t context) {
            p.offloaded_layers = layers;
            p.context = context;
            const hp::serving_estimate e = hp::estimate_serving(d, p, device, ub);
            return fits(d, p, device, no_reserve, context) &&
                   (step == hp::serving_step::prefill ? e.prefill : e.decode).hides_dram();
          };
          if (best.tokens > 0) {
            EXPECT_TRUE(hidden(best.offloaded_layers, best.tokens));
          }
          for (hp::extent_t layers = 0; layers <= d.layers; ++layers)
            EXPECT_FALSE(hidden(layers, best.tokens + 1)) << layers;
          p.offloaded_layers = 0;
          const hp::context_limit without = hp::longest_context(d, p, device, no_reserve);
          EXPECT_GE(best.tokens, without.tokens);
          longer += best.tokens > without.tokens;
        }
  EXPECT_GT(longer, 0);
}

}  // namespace
