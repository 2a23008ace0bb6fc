// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/units.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

static_assert(hp::TiB == std::int64_t{1} << 40 && hp::GiB == std::int64_t{1} << 30 && hp::MiB == 1 << 20);
static_assert(hp::terabyte == 1'000'000'000'000 && hp::gigabyte == 1'000'000'000);

TEST(Units, AreConsistent) {
  EXPECT_EQ(hp::second, 1'000'000'000'000 * hp::picosecond);
  EXPECT_EQ(hp::millisecond * 1000, hp::second);
  EXPECT_EQ(hp::microsecond * 1000, hp::millisecond);
  EXPECT_EQ(hp::nanosecond * 1000, hp::microsecond);
  EXPECT_EQ(hp::MiB, 1024 * hp::KiB);
  EXPECT_EQ(hp::megabyte, 1000 * hp::kilobyte);
  EXPECT_EQ(200 * hp::gigabit_per_second, 25 * hp::gigabyte);
  EXPECT_EQ(hp::teraflops, 1000 * hp::gigaflops);
}
