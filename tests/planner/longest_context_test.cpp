// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/longest_context.hpp>

#include <hyperparallel/hardware/presets.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

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

// No context is longer than what the model is made for, by the file's word or by its table; up to there nothing changes.
TEST(LongestContext, PositionsBind) {
  int bound = 0, cases = 0;
  for (const hp::decoder& d : small_decoders::all())
    for (const int devices : {1, 4})
      for (const hp::extent_t hbm : {12'000, 40'000, 400'000})
        for (const hp::extent_t positions : {1, 7, 64, 1000, 100'000})
          hp::visit_serving_plans(d, {.batch = 3, .chunk = 8}, devices, [&](hp::serving_plan p) {
            const hp::device_value device = of_bytes(hbm, 100'000);
            const hp::context_limit free = hp::longest_context(d, p, device, no_reserve);
            p.positions = positions;
            const hp::context_limit limit = hp::longest_context(d, p, device, no_reserve);
            EXPECT_EQ(limit.tokens, std::min(free.tokens, positions));
            EXPECT_EQ(limit.bound, free.tokens >= positions ? hp::context_bound::positions : free.bound);
            EXPECT_NE(limit.bound, hp::context_bound::nothing);
            for (const hp::serving_step step : {hp::serving_step::prefill, hp::serving_step::decode})
              EXPECT_LE(hp::longest_hidden_context(d, p, device, ub, no_reserve, step).tokens, positions);
            bound += limit.bound == hp::context_bound::positions;
            ++cases;
          });
  EXPECT_GT(bound, 0);
  EXPECT_GT(cases, 500);
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

/// A random question whose answer depends on how fast memories are: decoder, plan, device.
struct question {
  hp::decoder d{};
  hp::serving_plan p{};
  hp::device_value device{};
  explicit question(std::mt19937& random) {
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    const std::vector<hp::decoder> models = small_decoders::all();
    d = models[random() % models.size()];
    if (below(3) == 0) d.layers *= 2;
    if (below(4) == 0) d.attention.window = 1 + below(200);
    std::vector<hp::serving_plan> plans;
    hp::visit_serving_plans(d, {.batch = 1 + below(5), .chunk = 1 + below(below(2) == 0 ? 20 : 400)}, 1 << below(3),
                            [&](const hp::serving_plan& one) { plans.push_back(one); });
    if (!plans.empty()) p = plans[random() % plans.size()];
    const auto rate = [&](hp::extent_t most) { return most >> below(12); };
    device = of_bytes(15'000 + below(250'000), 1 + below(400'000));
    device.matrix_flops[0] = rate(hp::teraflops);
    device.tier[0].bandwidth = rate(500 * hp::gigabyte);
    device.tier[1].bandwidth = below(5) == 0 ? device.tier[0].bandwidth : rate(device.tier[0].bandwidth);
    device.tier[1].latency = below(2) == 0 ? 0 : below(100'000'000);
  }
};

// Memory does not fall with the context: over all contexts of a small world those that fit are the first ones.
TEST(LongestContext, WhatFitsIsMonotone) {
  std::mt19937 random(7);
  for (int i = 0; i < 600; ++i) {
    question q(random);
    q.p.offloaded_layers = static_cast<hp::extent_t>(random() % 4);
    const hp::context_limit limit = hp::longest_context(q.d, q.p, q.device, no_reserve);
    EXPECT_EQ(limit.unbroken, limit.tokens);
    hp::serving_plan p = q.p;
    hp::extent_t peak = 0, offloaded = 0;
    for (hp::extent_t n = 1; n <= std::min<hp::extent_t>(limit.tokens + 400, 1500); ++n) {
      if (q.d.positions > 0 && n > q.d.positions) break;
      p.context = n;
      const hp::serving_memory m = hp::serving_memory_of(hp::serving_amounts_of(q.d, p, 0), p, n);
      ASSERT_LE(peak, m.peak());
      ASSERT_LE(offloaded, m.offloaded);
      peak = m.peak();
      offloaded = m.offloaded;
      ASSERT_EQ(fits(q.d, q.p, q.device, no_reserve, n), n <= limit.tokens) << n;
    }
  }
}

// Hiding is not: against all contexts one by one, of all numbers of layers. Some limits have contexts below that are not
// hidden, and for some the first that is not is far below the longest that is.
TEST(LongestContext, HiddenIsTheLongestOfAllContexts) {
  std::mt19937 random(8);
  int broken = 0, offloading = 0, scanned = 0;
  for (int i = 0; i < 1500; ++i) {
    const question q(random);
    const auto step = i % 2 == 0 ? hp::serving_step::prefill : hp::serving_step::decode;
    const hp::context_limit best = hp::longest_hidden_context(q.d, q.p, q.device, ub, no_reserve, step);
    hp::extent_t longest = 0, of_layers = 0;
    const auto stages = hp::detail::amounts_of_stages(q.d, q.p);
    bool small = true;
    for (hp::extent_t layers = 0; layers <= q.d.layers && small; ++layers) {
      hp::serving_plan p = q.p;
      p.offloaded_layers = layers;
      const hp::extent_t most = hp::longest_context(q.d, p, q.device, no_reserve).tokens;
      small = most <= 6000;
      hp::extent_t unbroken = 0;
      for (hp::extent_t n = 1; n <= most && small; ++n) {
        p.context = n;
        bool hidden = true;
        for (const hp::serving_amounts& a : stages) {
          const hp::detail::serving_pass pass(a, p, q.device, ub);
          hidden =
              hidden && (step == hp::serving_step::prefill ? pass.prefill_beside_links(n) : pass.decode_beside_links(n))
                            .hides_dram();
        }
        if (hidden && unbroken == n - 1) unbroken = n;
        if (hidden && n > longest) {
          longest = n;
          of_layers = layers;
        }
      }
      if (small && layers == best.offloaded_layers) {
        ASSERT_EQ(best.unbroken, std::min(unbroken, best.tokens)) << i;
        broken += best.unbroken < best.tokens;
      }
    }
    if (!small) continue;
    ++scanned;
    offloading += best.offloaded_layers > 0;
    ASSERT_EQ(best.tokens, longest) << i;
    ASSERT_EQ(best.offloaded_layers, of_layers) << i;
  }
  EXPECT_GT(scanned, 700);
  EXPECT_GT(offloading, 100);
  EXPECT_GT(broken, 20);
}

}  // namespace
