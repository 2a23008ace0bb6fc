// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/link.hpp>
#include <hyperparallel/hardware/units.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace hp = hyperparallel;

namespace {

constexpr hp::link_level wire{"wire", 16, 196 * hp::gigabyte, 930 * hp::nanosecond};

static_assert(hp::transfer_time(wire, 196 * hp::megabyte).picoseconds == hp::millisecond + 930 * hp::nanosecond);

TEST(Link, IsAffineInBytes) {
  const std::int64_t alpha = hp::transfer_time(wire, 0).picoseconds;
  EXPECT_EQ(alpha, wire.latency);
  for (std::int64_t bytes = 1; bytes < 2000; ++bytes) {
    const std::int64_t time = hp::transfer_time(wire, bytes).picoseconds;
    EXPECT_GT(time, hp::transfer_time(wire, bytes - 1).picoseconds);
    EXPECT_EQ(time - alpha, (bytes * 1000 + 98) / 196);  // 1000/196 picoseconds a byte, to the nearest
  }
}

TEST(Link, NamesWhatIsWrong) {
  EXPECT_EQ(hp::transfer_time(wire, -1).code, hp::cost_code::amount_is_negative);
  EXPECT_EQ(hp::transfer_time(hp::link_level{}, 1).code, hp::cost_code::rate_is_not_positive);
  EXPECT_EQ(hp::transfer_time({"wire", 2, 1, -1}, 1).code, hp::cost_code::latency_is_negative);
  EXPECT_EQ(hp::transfer_time({"wire", 2, 1, 0}, INT64_MAX).code, hp::cost_code::overflow);
}

}  // namespace
