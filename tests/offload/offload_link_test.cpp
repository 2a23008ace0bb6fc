// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/offload/offload_link.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

TEST(OffloadLink, ACopyTakesLatencyPlusBytesOverBandwidthRoundedUp) {
  EXPECT_EQ(hp::link_copy_time({1'000'000'000'000, 7}, 5), 12);
  EXPECT_EQ(hp::link_copy_time({3'000'000'000'000, 0}, 1), 1);
  EXPECT_EQ(hp::link_copy_time({3'000'000'000'000, 0}, 3), 1);
  EXPECT_EQ(hp::link_copy_time({3'000'000'000'000, 0}, 4), 2);
  EXPECT_EQ(hp::link_copy_time({196'000'000'000, 0}, 196'000'000'000), 1'000'000'000'000);
  EXPECT_EQ(hp::link_copy_time({1, 0}, INT64_MAX), INT64_MAX);
  EXPECT_EQ(hp::link_copy_time({1, 0}, hp::TiB), hp::longest_time);
  static_assert(hp::link_copy_time({50'000'000'000, 10}, 1 << 30) == 21'474'836'490);
  constexpr hp::offload_link link{2 * hp::gigabyte, 3 * hp::microsecond};
  for (std::int64_t bytes = 1; bytes < 1000; bytes += 7)
    EXPECT_EQ(hp::link_copy_time(link, bytes), 3 * hp::microsecond + 500 * bytes);
}

TEST(OffloadLink, NothingTakesNoTimeAndNoLimitNextToNone) {
  static_assert(hp::link_copy_time({2 * hp::gigabyte, 3 * hp::microsecond}, 0) == 0);
  EXPECT_EQ(hp::link_copy_time({hp::unlimited_bandwidth, 7}, 1), 8);
  EXPECT_LT(hp::link_copy_time({}, hp::TiB), hp::microsecond);
}

TEST(OffloadLink, BetweenTiersItIsTheTimeOfTheHardware) {
  const hp::memory_tier fast{hp::hbm, hp::GiB, 1600 * hp::gigabyte, hp::per_mille(600), hp::microsecond};
  const hp::memory_tier slow{hp::dram, hp::GiB, 25 * hp::gigabyte, hp::per_mille(900), 4 * hp::microsecond};
  const hp::offload_link link = hp::link_between(fast, slow);
  EXPECT_EQ(link, (hp::offload_link{22'500 * hp::megabyte, 4 * hp::microsecond}));
  EXPECT_EQ(link, hp::link_between(slow, fast));
  for (std::int64_t bytes = 1; bytes < hp::GiB; bytes *= 3) {
    const std::int64_t nearest = hp::copy_time(slow, fast, bytes).picoseconds, up = hp::link_copy_time(link, bytes);
    EXPECT_TRUE(up == nearest || up == nearest + 1) << bytes;
  }
}

}  // namespace
