// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/cost.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace hp = hyperparallel;

// One byte at one byte per second takes a second; thirds round to the nearest picosecond, halves up.
static_assert(hp::work_time(1, 1, 1, 1) == hp::time_cost{hp::cost_code::ok, hp::second});
static_assert(hp::work_time(1, 1, 3, 1).picoseconds == 333'333'333'333);
static_assert(hp::work_time(2, 1, 3, 1).picoseconds == 666'666'666'667);
static_assert(hp::work_time(1, 1, 2, hp::second).picoseconds == 1);
static_assert(hp::work_time(1, 1, 2, hp::second + 1).picoseconds == 0);
static_assert(hp::work_time(600, 1, 1, 1000, hp::per_mille(600)).picoseconds == hp::second);

// Brute force over small factors: |2·t·d - 2·n| <= d, the definition of nearest.
TEST(WorkTime, IsNearest) {
  for (std::int64_t amount = 0; amount < 12; ++amount)
    for (std::int64_t factor = 0; factor < 4; ++factor)
      for (std::int64_t divisor = 1; divisor < 9; ++divisor)
        for (std::int64_t rate = 1; rate < 40; rate += 3)
          for (int share = 125; share <= 1000; share += 125) {
            const hp::time_cost t = hp::work_time(amount, factor, divisor, rate * 1'000'000'000, hp::per_mille(share));
            ASSERT_TRUE(t.ok());
            const std::int64_t numerator = amount * factor * 1000 * 1000;
            const std::int64_t denominator = divisor * rate * share;
            const std::int64_t error = 2 * (t.picoseconds * denominator - numerator);
            ASSERT_LE(error < 0 ? -error : error, denominator);
          }
}

TEST(WorkTime, NamesWhatIsWrong) {
  EXPECT_EQ(hp::work_time(-1, 1, 1, 1).code, hp::cost_code::amount_is_negative);
  EXPECT_EQ(hp::work_time(1, -1, 1, 1).code, hp::cost_code::amount_is_negative);
  EXPECT_EQ(hp::work_time(1, 1, 0, 1).code, hp::cost_code::count_is_not_positive);
  EXPECT_EQ(hp::work_time(1, 1, 1, 0).code, hp::cost_code::rate_is_not_positive);
  EXPECT_EQ(hp::work_time(1, 1, 1, 1, {0}).code, hp::cost_code::efficiency_is_not_in_0_to_1);
  EXPECT_EQ(hp::work_time(1, 1, 1, 1, hp::per_mille(1001)).code, hp::cost_code::efficiency_is_not_in_0_to_1);
  EXPECT_EQ(hp::latencies(-1, 1).code, hp::cost_code::amount_is_negative);
  EXPECT_EQ(hp::latencies(1, -1).code, hp::cost_code::latency_is_negative);
}

TEST(WorkTime, SaturatesInsteadOfWrapping) {
  const hp::time_cost saturated{hp::cost_code::overflow, hp::longest_time};
  EXPECT_EQ(hp::work_time(INT64_MAX, 1, 1, 1), saturated);
  EXPECT_EQ(hp::work_time(INT64_MAX, INT64_MAX, 1, INT64_MAX), saturated);
  EXPECT_EQ(hp::work_time(9'223'372, 1, 1, 1).picoseconds, 9'223'372 * hp::second);  // the last whole second that fits
  EXPECT_EQ(hp::work_time(9'223'373, 1, 1, 1), saturated);
  EXPECT_EQ(hp::then({hp::cost_code::ok, hp::longest_time}, {hp::cost_code::ok, 1}), saturated);
  EXPECT_EQ(hp::latencies(INT64_MAX, 2), saturated);
  EXPECT_EQ(hp::work_time(1, 1, INT64_MAX, INT64_MAX, {1}).picoseconds, 0);
}

TEST(WorkTime, CombinationsKeepTheFirstComplaint) {
  const hp::time_cost good{hp::cost_code::ok, 7};
  const hp::time_cost bad{hp::cost_code::amount_is_negative, 0};
  const hp::time_cost worse{hp::cost_code::rate_is_not_positive, 0};
  EXPECT_EQ(hp::then(good, bad), bad);
  EXPECT_EQ(hp::then(bad, worse), bad);
  EXPECT_EQ(hp::slower(good, bad), bad);
  EXPECT_EQ(hp::faster(good, bad), good);
  EXPECT_EQ(hp::faster(bad, good), good);
  EXPECT_EQ(hp::slower(good, {hp::cost_code::ok, 9}).picoseconds, 9);
  EXPECT_EQ(hp::faster(good, {hp::cost_code::ok, 9}).picoseconds, 7);
  EXPECT_EQ(hp::then(good, {hp::cost_code::ok, 9}).picoseconds, 16);
}
