// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/serving_choice.hpp>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/planner/longest_context.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include <layers/decoder_shapes.hpp>

#include "small_decoders.hpp"

namespace hp = hyperparallel;

namespace {

constexpr hp::interconnect ub = hp::interconnect_of(hp::matrix384::topology);

constexpr hp::device_value of_bytes(hp::extent_t hbm, hp::extent_t dram) {
  hp::device_value d = hp::matrix384::device;
  d.tier[0].bytes = hbm;
  d.tier[1] = {hp::memory_kind::dram, dram, 20 * hp::gigabyte, hp::full_efficiency, hp::microsecond};
  return d;
}

// By the compiler: on two devices of 16 GiB with 3 GiB of DRAM a Llama-3-8B is tight with tp = 2, and does not fit otherwise.
constexpr hp::memory_reserve wasteful{.library_bytes = 2 * hp::GiB, .allocator_per_mille = 400};
constexpr hp::serving_choice narrow =
    hp::choose_serving(hp::test::llama3_8b, {.context = 65'536, .offloaded_layers = 16}, 2,
                       of_bytes(16 * hp::GiB, 3 * hp::GiB), ub, wasteful);
static_assert(narrow.legal == 3 && narrow.verdict == hp::fit_verdict::tight && narrow.best.plan.tp == 2);

// Against all plans one by one, with the order written out: the fastest that fits, else the fastest that is tight, else the
// one that needs least.
TEST(ServingChoice, NoPlanIsABetterAnswer) {
  std::mt19937 random(49);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const std::vector<hp::decoder> models = small_decoders::all();
  int seen[3] = {};
  for (int i = 0; i < 3000; ++i) {
    const hp::decoder& d = models[random() % models.size()];
    const int devices = 1 + below(12);
    const hp::serving_plan from{
        .batch = 1 + below(9), .context = 1 + below(60), .chunk = 1 + below(20), .offloaded_layers = below(3)};
    const hp::device_value device = of_bytes(1000 + below(30'000), 1 + below(8000));
    const hp::memory_reserve reserve{.library_bytes = below(500), .allocator_per_mille = below(1001)};
    std::vector<hp::serving_estimate> by_verdict[3];
    hp::visit_serving_plans(d, from, devices, [&](const hp::serving_plan& p) {
      const hp::serving_estimate e = hp::estimate_serving(d, p, device, ub);
      if (!e.ok()) return;
      const bool in_dram = e.offloaded <= device.tier[1].bytes;
      const hp::extent_t peak = e.memory.peak(), has = device.tier[0].bytes;
      by_verdict[in_dram && reserve.needed(peak) <= has           ? 0
                 : in_dram && peak + reserve.library_bytes <= has ? 1
                                                                  : 2]
          .push_back(e);
    });
    const hp::serving_choice c = hp::choose_serving(d, from, devices, device, ub, reserve);
    const int v = !by_verdict[0].empty() ? 0 : !by_verdict[1].empty() ? 1 : 2;
    ASSERT_EQ(static_cast<std::size_t>(c.legal), by_verdict[0].size() + by_verdict[1].size() + by_verdict[2].size());
    if (c.legal == 0) continue;
    ++seen[v];
    ASSERT_EQ(static_cast<int>(c.verdict), v);
    for (const hp::serving_estimate& e : by_verdict[v]) {
      if (v < 2) {
        ASSERT_LE(c.best.decode.time, e.decode.time);
        ASSERT_GE(c.best.decode.tokens_per_second, e.decode.tokens_per_second);
      } else {
        ASSERT_LE(c.best.memory.peak(), e.memory.peak());
      }
    }
  }
  for (const int n : seen) EXPECT_GT(n, 100);
}

// What kernels work in is one account whatever its kind: a host's DRAM counts as an HBM of its size, and not once more as the
// DRAM that is behind it. Of two of a kind behind it the first has the cache.
TEST(ServingChoice, TheFirstMemoryIsNotASecondOne) {
  std::mt19937 random(50);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const std::vector<hp::decoder> models = small_decoders::all();
  int offloading = 0;
  for (int i = 0; i < 1000; ++i) {
    const hp::decoder& d = models[random() % models.size()];
    const int devices = 1 + below(4);
    hp::serving_plan p{.dp = devices, .batch = 1 + below(9), .context = 1 + below(60), .chunk = 1 + below(20)};
    p.offloaded_layers = below(3);
    hp::device_value device = of_bytes(1000 + below(30'000), 1 + below(8000));
    device.tier_count = 1 + below(3);
    device.tier[2] = {hp::dram, 1'000'000, 10 * hp::gigabyte, hp::full_efficiency, 0};
    const hp::memory_reserve reserve{.library_bytes = below(500), .allocator_per_mille = below(1001)};
    hp::device_value of_kind = device;
    of_kind.tier[0].kind = i % 2 == 0 ? hp::dram : hp::memory_kind::storage;
    const hp::serving_choice a = hp::choose_serving(d, p, devices, device, ub, reserve),
                             b = hp::choose_serving(d, p, devices, of_kind, ub, reserve);
    ASSERT_EQ(a.legal, b.legal);
    ASSERT_EQ(a.verdict, b.verdict);
    ASSERT_EQ(a.best.plan, b.best.plan);
    ASSERT_EQ(hp::longest_context(d, p, device, reserve), hp::longest_context(d, p, of_kind, reserve));
    for (const auto step : {hp::serving_step::prefill, hp::serving_step::decode})
      ASSERT_EQ(hp::longest_hidden_context(d, p, device, ub, reserve, step),
                hp::longest_hidden_context(d, p, of_kind, ub, reserve, step));
    if (p.offloaded_layers > 0 && device.tier_count == 1) {
      ASSERT_EQ(a.legal, 0) << "cache without a memory that holds it has no price";
      ++offloading;
    }
  }
  EXPECT_GT(offloading, 100);
}

}  // namespace
