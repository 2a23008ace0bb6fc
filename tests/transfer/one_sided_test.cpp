// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/transfer/one_sided.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace {

namespace hp = hyperparallel;

TEST(OneSided, RowsLandWhereTheyShouldAndNowhereElse) {
  const std::int64_t bytes[] = {64};
  std::vector<std::byte> source(64);
  for (std::size_t i = 0; i < 64; ++i) source[i] = static_cast<std::byte>(i + 1);
  for (std::int64_t rows = 0; rows <= 3; ++rows)
    for (std::int64_t width = 0; width <= 4; ++width)
      for (std::int64_t from = width; from <= 6; ++from)
        for (std::int64_t to = width; to <= 7; ++to) {
          const hp::arena_set arenas(2, bytes);
          const std::int64_t moved = hp::put_rows(arenas, {1, 0, 5, to}, {source.data(), rows, width, from});
          EXPECT_EQ(moved, rows * width);
          std::vector<std::byte> expected(64);
          for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t i = 0; i < width; ++i)
              expected[static_cast<std::size_t>(5 + r * to + i)] = source[static_cast<std::size_t>(r * from + i)];
          ASSERT_EQ(std::memcmp(arenas.address(1, 0, 0), expected.data(), 64), 0);
          for (int i = 0; i < 64; ++i) ASSERT_EQ(arenas.address(0, 0, 0)[i], std::byte{0});
        }
}

TEST(OneSided, ZeroRowsStillSignal) {
  const std::int64_t bytes[] = {16};
  const hp::arena_set arenas(2, bytes);
  hp::event_counters events(2);
  EXPECT_EQ(hp::put_with_signal(arenas, {1, 0, 0, 4}, {nullptr, 0, 4, 4}, events, 1), 0);
  EXPECT_EQ(events.value(1), 1U);
  EXPECT_EQ(events.value(0), 0U);
}

TEST(OneSided, APutThatDoesNotFitWritesNothingAndDoesNotSignal) {
  const std::int64_t bytes[] = {16};
  const hp::arena_set arenas(2, bytes);
  hp::event_counters events(1);
  const std::vector<std::byte> ones(32, std::byte{1});
  EXPECT_THROW(hp::put_with_signal(arenas, {1, 0, 4, 8}, {ones.data(), 2, 5, 5}, events, 0), hp::arena_error);
  EXPECT_THROW(hp::put_with_signal(arenas, {2, 0, 0, 8}, {ones.data(), 1, 4, 4}, events, 0), hp::arena_error);
  EXPECT_EQ(events.value(0), 0U);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(arenas.address(1, 0, 0)[i], std::byte{0});
}

TEST(OneSided, WhoSeesTheSignalSeesTheRows) {
  constexpr int rounds = 2000;
  constexpr std::int64_t width = 256;
  const std::int64_t bytes[] = {2 * width};
  const hp::arena_set arenas(2, bytes);
  hp::event_counters events(2);
  hp::doorbell receiver, sender;
  const auto await = [&](hp::doorbell& bell, int event, std::uint32_t target) {
    while (!events.reached(event, target)) {
      const std::uint32_t seen = bell.prepare();
      if (events.reached(event, target, std::memory_order_seq_cst))
        bell.leave();
      else
        bell.park(seen);
    }
  };
  std::thread other([&] {
    for (std::uint32_t i = 1; i <= rounds; ++i) {
      const std::vector<std::byte> row(width, static_cast<std::byte>(i));
      hp::put_with_signal(arenas, {1, 0, 0, width}, {row.data(), 1, width, width}, events, 0, &receiver);
      await(sender, 1, i);
    }
  });
  int wrong = 0;
  for (std::uint32_t i = 1; i <= rounds; ++i) {
    await(receiver, 0, i);
    for (const std::byte b : arenas.span<std::byte>(1, 0, 0, width)) wrong += b != static_cast<std::byte>(i);
    events.signal(1);
    sender.ring();
  }
  other.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
