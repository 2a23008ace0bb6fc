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

constexpr hp::link_level with_shares(const hp::size_share (&shares)[3]) {
  hp::link_level level = wire;
  for (int i = 0; i < 3; ++i) level.by_size[i] = shares[i];
  return level;
}
constexpr hp::link_level curved =
    with_shares({{64, hp::per_mille(250)}, {256, hp::per_mille(500)}, {1000, hp::per_mille(800)}});
static_assert(hp::detail::check_shares(curved).code == hp::size_share_code::ok);

// At the stated sizes, below, between and above them.
static_assert(hp::detail::occupied_bytes(wire, 3, 1000) == 1000);
static_assert(hp::detail::occupied_bytes(curved, 1, 0) == 0 && hp::detail::occupied_bytes(curved, 1, 16) == 64);
static_assert(hp::detail::occupied_bytes(curved, 1, 64) == 256 && hp::detail::occupied_bytes(curved, 1, 256) == 512);
static_assert(hp::detail::occupied_bytes(curved, 1, 160) == 384 && hp::detail::occupied_bytes(curved, 1, 1000) == 1250);
static_assert(hp::detail::occupied_bytes(curved, 1, 1800) == 2250 &&
              hp::detail::occupied_bytes(curved, 10, 10'000) == 12'500);
static_assert(hp::detail::occupied_bytes(curved, 100, 1600) == 6400 &&
              hp::detail::occupied_bytes(curved, 0, 64) == 256);
static_assert(hp::detail::occupied_bytes(curved, 1, INT64_MAX) == INT64_MAX);
static_assert(hp::detail::occupied_time(curved, 1, 500, 2) == hp::work_time(1250, 1, 1, wire.bandwidth));
static_assert(hp::transfer_time(curved, 1000) == hp::transfer_time(wire, 1250));
static_assert(hp::detail::occupied_time(curved, 1, INT64_MAX, 2).code == hp::cost_code::overflow);

// Of all small amounts: no bytes more take less, no message more takes less but for rounding, and as many messages as
// divide the bytes take as often as long as one of them.
TEST(Link, SharesBySizeKeepTheirLaws) {
  for (std::int64_t bytes = 1; bytes < 4000; ++bytes)
    for (std::int64_t messages = 1; messages < 9; ++messages) {
      const std::int64_t occupied = hp::detail::occupied_bytes(curved, messages, bytes);
      EXPECT_GE(occupied, bytes);
      EXPECT_GE(occupied, hp::detail::occupied_bytes(curved, messages, bytes - 1));
      EXPECT_GE(hp::detail::occupied_bytes(curved, messages + 1, bytes) + 2 * messages, occupied);
      if (bytes % messages == 0) {
        EXPECT_NEAR(static_cast<double>(occupied),
                    static_cast<double>(messages * hp::detail::occupied_bytes(curved, 1, bytes / messages)),
                    static_cast<double>(2 * messages));
      }
    }
}

TEST(Link, SharesBySizeThatCannotBe) {
  using code = hp::size_share_code;
  const auto refused = [](const hp::size_share(&shares)[3]) { return hp::detail::check_shares(with_shares(shares)); };
  EXPECT_EQ(refused({{64, {0}}}), (hp::detail::size_share_status{code::share_is_not_in_0_to_1, 0}));
  EXPECT_EQ(refused({{64, hp::per_mille(500)}, {65, {1'000'001}}}),
            (hp::detail::size_share_status{code::share_is_not_in_0_to_1, 1}));
  EXPECT_EQ(refused({{-1, hp::per_mille(500)}}), (hp::detail::size_share_status{code::sizes_do_not_rise, 0}));
  EXPECT_EQ(refused({{64, hp::per_mille(500)}, {64, hp::per_mille(600)}}),
            (hp::detail::size_share_status{code::sizes_do_not_rise, 1}));
  EXPECT_EQ(refused({{64, hp::per_mille(500)}, {96, hp::per_mille(400)}}),
            (hp::detail::size_share_status{code::shares_fall, 1}));
  EXPECT_EQ(refused({{64, hp::per_mille(100)}, {96, hp::per_mille(900)}}),
            (hp::detail::size_share_status{code::longer_is_faster, 1}));
}

TEST(Link, NamesWhatIsWrong) {
  EXPECT_EQ(hp::transfer_time(wire, -1).code, hp::cost_code::amount_is_negative);
  EXPECT_EQ(hp::transfer_time(hp::link_level{}, 1).code, hp::cost_code::rate_is_not_positive);
  EXPECT_EQ(hp::transfer_time({"wire", 2, 1, -1}, 1).code, hp::cost_code::latency_is_negative);
  EXPECT_EQ(hp::transfer_time({"wire", 2, 1, 0}, INT64_MAX).code, hp::cost_code::overflow);
}

}  // namespace
