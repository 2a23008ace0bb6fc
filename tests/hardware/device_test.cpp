// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/hardware/presets.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace hp = hyperparallel;

namespace {

constexpr hp::device_value die = hp::ascend_910c_die::device;
using code = hp::device_code;
using status = hp::device_status;

// One base tile 128×256×64: 128·256 multiply-accumulates a depth step of 64, at 4096 a cycle of 1.8 GHz: 512 cycles.
static_assert(hp::matmul_time(die, 128, 256, 64, hp::full_efficiency).picoseconds == 284'444);

// Over all lists of up to four tiers: the tier behind is not tier 0, is of the kind, and none before it is; so no memory is
// found as tier 0 and as one behind.
TEST(Device, AMemoryIsOneAccount) {
  constexpr hp::memory_kind kinds[] = {hp::hbm, hp::dram, hp::memory_kind::storage};
  for (int count = 1; count <= hp::max_memory_tiers; ++count)
    for (int choice = 0; choice < 81; ++choice) {
      hp::device_value d = hp::matrix384::device;
      d.tier_count = count;
      for (int t = 0, left = choice; t < hp::max_memory_tiers; ++t, left /= 3) {
        d.tier[t].kind = kinds[left % 3];
        d.tier[t].bytes = t + 1;
      }
      for (const hp::memory_kind kind : kinds) {
        int expected = -1;
        for (int t = count - 1; t > 0; --t)
          if (d.tier[t].kind == kind) expected = t;
        EXPECT_EQ(hp::tier_behind(d, kind), expected);
        EXPECT_EQ(hp::bytes_behind(d, kind), expected < 0 ? 0 : expected + 1);
      }
    }
}

TEST(Device, MatmulOnAllCoresIsWorkOverPeak) {
  for (const std::int64_t m : {128, 4096, 32768})
    for (const std::int64_t n : {256, 4096})
      for (const std::int64_t k : {64, 7168}) {
        const hp::time_cost all = hp::matmul_time(die, m, n, k, die.gmm_warm, die.aic);
        const double expected = 2.0 * static_cast<double>(m * n * k) / (0.864 * 353.8944e12) * 1e12;
        ASSERT_TRUE(all.ok());
        EXPECT_NEAR(static_cast<double>(all.picoseconds), expected, 1 + expected * 1e-12);
        const std::int64_t one = hp::matmul_time(die, m, n, k, die.gmm_warm).picoseconds;
        EXPECT_NEAR(static_cast<double>(one), 24.0 * static_cast<double>(all.picoseconds), 13.0);
      }
}

TEST(Device, TimesGrowWithWorkAndFallWithCoresAndEfficiency) {
  std::int64_t before = -1;
  for (std::int64_t m = 0; m <= 64; ++m) {
    const std::int64_t now = hp::matmul_time(die, m, 256, 64, die.gmm_cold).picoseconds;
    EXPECT_GT(now, before);
    before = now;
  }
  for (int cores = 2; cores <= die.aic; ++cores)
    EXPECT_LT(hp::matmul_time(die, 128, 256, 64, die.gmm_cold, cores).picoseconds,
              hp::matmul_time(die, 128, 256, 64, die.gmm_cold, cores - 1).picoseconds);
  for (int share = 2; share <= 1000; ++share)
    EXPECT_LT(hp::matmul_time(die, 128, 256, 64, hp::per_mille(share)).picoseconds,
              hp::matmul_time(die, 128, 256, 64, hp::per_mille(share - 1)).picoseconds);
  EXPECT_LT(hp::matmul_time(die, 64, 64, 64, die.gmm_cold, 1, hp::number_format::int8).picoseconds,
            hp::matmul_time(die, 64, 64, 64, die.gmm_cold, 1, hp::number_format::float32).picoseconds);
}

TEST(Device, VectorQueuesShareTheMemory) {
  // Equal tasks on q queues end when the whole memory has moved all their bytes.
  const std::int64_t bytes = 128 * 3 * 2048 * 2;
  for (int q = 1; q <= die.aiv; ++q) {
    const std::int64_t shared = hp::vector_time(die, bytes, q).picoseconds;
    const std::int64_t whole = hp::vector_time(die, bytes * q, 1).picoseconds;
    EXPECT_EQ(shared, whole);
  }
  // The roofline is the larger of its two sides.
  EXPECT_EQ(hp::vector_time(die, bytes, 0, 24), hp::vector_time(die, bytes, 24));
  EXPECT_EQ(hp::vector_time(die, 0, 22'000'000, 1).picoseconds, 48 * hp::microsecond);
}

TEST(Device, CopiesPayLatencyAndTheSlowerEnd) {
  const hp::memory_tier& fast = die.tier[hp::detail::tier_index(die, hp::hbm)];
  const hp::memory_tier& pool = die.tier[hp::detail::tier_index(die, hp::dram)];
  EXPECT_EQ(hp::copy_time(pool, 151 * hp::megabyte).picoseconds, hp::millisecond + hp::microsecond);
  EXPECT_EQ(hp::copy_time(pool, fast, hp::MiB), hp::copy_time(pool, hp::MiB));
  EXPECT_EQ(hp::copy_time(fast, pool, hp::MiB), hp::copy_time(pool, hp::MiB));
  EXPECT_EQ(hp::copy_time(pool, 0).picoseconds, 0);
  EXPECT_EQ(hp::copy_time(pool, -1).code, hp::cost_code::amount_is_negative);
  EXPECT_EQ(hp::detail::tier_index(die, hp::memory_kind::storage), -1);
}

TEST(Device, RefusesWorkOutsideTheDomain) {
  hp::device_value without_peaks;
  without_peaks.aic = 1;
  EXPECT_EQ(hp::matmul_time(die, -1, 1, 1, die.gmm_warm).code, hp::cost_code::amount_is_negative);
  EXPECT_EQ(hp::matmul_time(die, 1, 1, 1, die.gmm_warm, 0).code, hp::cost_code::count_is_not_positive);
  EXPECT_EQ(hp::matmul_time(die, 1, 1, 1, die.gmm_warm, 25).code, hp::cost_code::count_exceeds_the_device);
  EXPECT_EQ(hp::matmul_time(die, 1, 1, 1, {0}).code, hp::cost_code::efficiency_is_not_in_0_to_1);
  EXPECT_EQ(hp::matmul_time(die, INT64_MAX, 2, 1, die.gmm_warm).code, hp::cost_code::overflow);
  EXPECT_EQ(hp::matmul_time(without_peaks, 1, 1, 1, die.gmm_warm).code, hp::cost_code::rate_is_not_positive);
  EXPECT_EQ(hp::vector_time(die, 1, 0).code, hp::cost_code::count_is_not_positive);
  EXPECT_EQ(hp::vector_time(die, 1, 49).code, hp::cost_code::count_exceeds_the_device);
}

TEST(Device, CheckNamesTheFault) {
  EXPECT_EQ(hp::check(die), hp::device_status{});
  hp::device_value d = die;
  d.aiv = 0;
  EXPECT_EQ(hp::check(d), (status{code::has_no_vector_core, 0, 0, 1}));
  d = die;
  d.tier_count = 5;
  EXPECT_EQ(hp::check(d), (status{code::tier_count_is_out_of_range, 0, 5, 4}));
  d = die;
  d.tier[1].bandwidth = 0;
  EXPECT_EQ(hp::check(d), (status{code::tier_has_no_bandwidth, 1, 0, 1}));
  d = die;
  d.tier[1].bandwidth = d.tier[0].bandwidth + 1;  // slower tiers come later
  EXPECT_EQ(hp::check(d),
            (status{code::tier_is_faster_than_the_one_before, 1, d.tier[0].bandwidth + 1, d.tier[0].bandwidth}));
  d = die;
  d.gmm_warm = {1'000'001};
  EXPECT_EQ(hp::check(d), (status{code::gmm_warm_is_not_in_0_to_1, 0, 1'000'001, 1'000'000}));
  d = die;
  d.matrix_flops[2] = -7;
  EXPECT_EQ(hp::check(d), (status{code::matrix_rate_is_negative, 2, -7, 0}));
  d = die;
  d.matrix_flops[3] = 0;  // a format that the device does not compute in
  EXPECT_EQ(hp::check(d), status{});
  d.vector_flops_f64 = -7;
  EXPECT_EQ(hp::check(d), (status{code::vector_rate_is_negative, 0, -7, 0}));
}

/// What a device is without one of its numbers, and what `check` says then. L2 and latencies may be nothing.
struct forgotten {
  const char* what;
  hp::device_code says;
  void (*forget)(hp::device_value&);
};
constexpr forgotten each_number[] = {
    {"aic", code::has_no_matrix_core, [](hp::device_value& d) { d.aic = {}; }},
    {"aiv", code::has_no_vector_core, [](hp::device_value& d) { d.aiv = {}; }},
    {"matrix_flops", code::has_no_matrix_rate,
     [](hp::device_value& d) {
       for (auto& r : d.matrix_flops) r = {};
     }},
    {"vector_flops", code::has_no_vector_rate, [](hp::device_value& d) { d.vector_flops = {}; }},
    {"tier_count", code::tier_count_is_out_of_range, [](hp::device_value& d) { d.tier_count = {}; }},
    {"tier", code::tier_has_no_capacity, [](hp::device_value& d) { d.tier[1] = {}; }},
    {"bytes", code::tier_has_no_capacity, [](hp::device_value& d) { d.tier[0].bytes = {}; }},
    {"bandwidth", code::tier_has_no_bandwidth, [](hp::device_value& d) { d.tier[0].bandwidth = {}; }},
    {"reached", code::tier_efficiency_is_not_in_0_to_1, [](hp::device_value& d) { d.tier[0].reached = {}; }},
    {"gmm_cold", code::gmm_cold_is_not_in_0_to_1, [](hp::device_value& d) { d.gmm_cold = {}; }},
    {"gmm_warm", code::gmm_warm_is_not_in_0_to_1, [](hp::device_value& d) { d.gmm_warm = {}; }},
};

// A rate that nobody states is refused; it is neither free nor the whole peak.
TEST(Device, NoRateIsForgottenSilently) {
  EXPECT_EQ(hp::efficiency{}.parts_per_million, 0);
  for (const forgotten& f : each_number) {
    hp::device_value d = die;
    f.forget(d);
    EXPECT_EQ(hp::check(d).code, f.says) << f.what;
  }
}

TEST(Device, NoNumberIsNegative) {
  std::int64_t hp::device_value::* const numbers[] = {&hp::device_value::vector_flops,
                                                      &hp::device_value::vector_flops_f64,
                                                      &hp::device_value::l2_bytes,
                                                      &hp::device_value::l2_bandwidth,
                                                      &hp::device_value::task_overhead,
                                                      &hp::device_value::synchronisation_latency,
                                                      &hp::device_value::vector_synchronisation_latency};
  for (const auto number : numbers) {
    hp::device_value d = die;
    d.*number = -3;
    EXPECT_NE(hp::check(d).code, code::ok);
    EXPECT_EQ(hp::check(d).given, -3);
  }
  hp::device_value d = die;
  d.tier[1].latency = -3;
  EXPECT_EQ(hp::check(d), (status{code::tier_latency_is_negative, 1, -3, 0}));
}

}  // namespace
