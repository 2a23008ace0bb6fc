// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/runtime/copy_rate.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

namespace hp = hyperparallel;

TEST(CopyRate, TimeIsLatencyPlusBytesOverBandwidth) {
  constexpr hp::copy_rate rate{2 * hp::gigabyte, 3 * hp::microsecond};
  static_assert(hp::copy_time(rate, 4 * hp::megabyte).picoseconds == 2003 * hp::microsecond);
  static_assert(hp::copy_time(rate, 0).picoseconds == 0);
  for (std::int64_t bytes = 1; bytes < 1000; bytes += 7)
    EXPECT_EQ(hp::copy_time(rate, bytes).picoseconds, 3 * hp::microsecond + 500 * bytes);
  EXPECT_EQ(hp::copy_time(hp::copy_rate{}, hp::TiB).picoseconds, 0);
  EXPECT_EQ(hp::copy_time({hp::unlimited_bandwidth, 7}, hp::TiB).picoseconds, 7);
}

TEST(CopyRate, NoTimeIsToldForALinkThatIsNone) {
  EXPECT_EQ(hp::copy_time({0, 0}, 1).code, hp::cost_code::rate_is_not_positive);
  EXPECT_EQ(hp::copy_time({1, -1}, 1).code, hp::cost_code::latency_is_negative);
  EXPECT_EQ(hp::copy_time({1, 0}, hp::TiB).code, hp::cost_code::overflow);
}

TEST(CopyRate, BetweenTiersItIsTheTimeOfTheHardware) {
  const hp::memory_tier fast{hp::hbm, hp::GiB, 1600 * hp::gigabyte, hp::per_mille(600), hp::microsecond};
  const hp::memory_tier slow{hp::dram, hp::GiB, 25 * hp::gigabyte, hp::per_mille(900), 4 * hp::microsecond};
  const hp::copy_rate rate = hp::rate_between(fast, slow);
  EXPECT_EQ(rate, (hp::copy_rate{22'500 * hp::megabyte, 4 * hp::microsecond}));
  EXPECT_EQ(rate, hp::rate_between(slow, fast));
  for (std::int64_t bytes = 1; bytes < hp::GiB; bytes *= 3)
    EXPECT_EQ(hp::copy_time(rate, bytes), hp::copy_time(slow, fast, bytes)) << bytes;
}

TEST(CopyRate, TheErrorSaysWhatAndHowMuch) {
  const hp::copy_error of_tensor(hp::copy_code::failed, "w1", 64, "no medium");
  EXPECT_EQ(std::string(of_tensor.what()), "copy of w1 (64 bytes): it failed: no medium");
  EXPECT_EQ(of_tensor.code, hp::copy_code::failed);
  EXPECT_EQ(of_tensor.tensor, "w1");
  EXPECT_EQ(of_tensor.bytes, 64);
  EXPECT_EQ(std::string(hp::copy_error(hp::copy_code::bandwidth_is_not_positive, {}, 0).what()),
            "copy engine: the bandwidth is not positive");
}

}  // namespace
