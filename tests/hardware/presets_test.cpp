// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace hp = hyperparallel;

namespace {

constexpr hp::device_value die = hp::ascend_910c_die::device;

static_assert(hp::hardware_type<hp::ascend_910c_die> && hp::hardware_type<hp::matrix384> &&
              hp::hardware_type<hp::generic_host> && !hp::hardware_type<int>);
static_assert(hp::matrix384::device == die);

// 24 cores · 16·16·16 multiply-accumulates · 2 · 1.8 GHz is the 353.9 TFLOP/s of the device profile.
static_assert(die.aic == 24 && die.aiv == 48);
static_assert(hp::matrix_peak(die, hp::number_format::bfloat16) == std::int64_t{24} * 8192 * 1'800'000'000);
static_assert((hp::matrix_peak(die, hp::number_format::bfloat16) + 50 * hp::gigaflops) / (100 * hp::gigaflops) == 3539);
static_assert(die.tier[0].bytes == 68'719'476'736 && die.l2_bytes == 201'326'592);

// The published model of a MoE FFN on one rank: 4096 tokens, top-8, hidden 7168, intermediate 2048, bf16.
constexpr std::int64_t rows = 4096 * 8;
constexpr std::int64_t hidden = 7168;
constexpr std::int64_t inner = 2048;
constexpr std::int64_t payload = rows * hidden * 2;
constexpr int local_experts = 8;

constexpr hp::time_cost matmuls(hp::efficiency reached) {
  return hp::then(hp::matmul_time(die, rows, 2 * inner, hidden, reached, die.aic),
                  hp::matmul_time(die, rows, hidden, inner, reached, die.aic));
}

// Backward has twice the products, and its SwiGLU moves 5 instead of 3 buffers.
constexpr std::int64_t serialized(int ep, bool backward) {
  const std::int64_t swiglu = hp::vector_time(die, rows * (backward ? 5 : 3) * inner * 2, 1).picoseconds;
  return (backward ? 2 : 1) * matmuls(die.gmm_cold).picoseconds + swiglu +
         2 * hp::expert_all_to_all_time(payload, ep).picoseconds;
}

constexpr std::int64_t fused(int ep, bool backward) {
  return (backward ? 2 : 1) * matmuls(die.gmm_warm).picoseconds +
         2 * hp::expert_all_to_all_time(payload, ep).picoseconds / local_experts + 560 * hp::microsecond;
}

constexpr std::int64_t hundredths_of_a_millisecond(std::int64_t time) {
  return (time + 5 * hp::microsecond) / (10 * hp::microsecond);
}

struct row {
  int ep;
  int base_forward, base_backward, fused_forward, fused_backward;  // model, 1/100 ms
  double paper[4];                                                 // ms
};
constexpr row table[] = {
    {4, 1629, 2828, 1052, 1996, {16.3, 27.9, 10.2, 19.4}},
    {8, 1738, 2938, 1065, 2009, {17.3, 29.8, 10.3, 19.6}},
    {16, 1864, 3064, 1081, 2025, {18.4, 30.5, 11.2, 19.9}},
};

static_assert(hundredths_of_a_millisecond(serialized(8, false)) == 1738);
static_assert(hundredths_of_a_millisecond(fused(8, false)) == 1065);

TEST(Presets, ReproduceTheFittedModel) {
  for (const row& r : table) {
    EXPECT_EQ(hundredths_of_a_millisecond(serialized(r.ep, false)), r.base_forward);
    EXPECT_EQ(hundredths_of_a_millisecond(serialized(r.ep, true)), r.base_backward);
    EXPECT_EQ(hundredths_of_a_millisecond(fused(r.ep, false)), r.fused_forward);
    EXPECT_EQ(hundredths_of_a_millisecond(fused(r.ep, true)), r.fused_backward);
  }
}

TEST(Presets, AreAsGoodAsTheFitClaims) {
  for (const row& r : table) {
    const auto error = [](std::int64_t time, double paper) {
      return std::abs(static_cast<double>(time) / static_cast<double>(hp::millisecond) / paper - 1);
    };
    EXPECT_LE(error(serialized(r.ep, false), r.paper[0]), 0.0143);
    EXPECT_LE(error(serialized(r.ep, true), r.paper[1]), 0.0143);
    EXPECT_LE(error(fused(r.ep, false), r.paper[2]), 0.0346);
    EXPECT_LE(error(fused(r.ep, true), r.paper[3]), 0.0346);
  }
}

TEST(Presets, ContendedTierIsSlower) {
  const hp::device_value crowded = hp::with_bandwidth(die, hp::dram, hp::ascend_910c_die::contended_dram_lowest);
  EXPECT_EQ(hp::check(crowded), hp::device_status{});
  EXPECT_EQ(crowded.tier[0], die.tier[0]);
  EXPECT_EQ(hp::copy_time(crowded.tier[1], 9 * hp::megabyte).picoseconds, hp::millisecond + hp::microsecond);
  EXPECT_EQ(hp::with_bandwidth(die, hp::memory_kind::storage, 1), die);
}

}  // namespace
