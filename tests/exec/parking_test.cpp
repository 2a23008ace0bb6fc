// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/parking.hpp>

#include <hyperparallel/kernels/steady_time.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace {

namespace hp = hyperparallel;

void await(hp::doorbell& bell, const std::atomic<int>& word, int value) {
  while (word.load() < value) {
    const std::uint32_t seen = bell.prepare();
    if (word.load() >= value)
      bell.leave();
    else
      bell.park(seen);
  }
}

TEST(Parking, NoWakeUpIsLostInAPingPongWithoutSpinning) {
  hp::doorbell left, right;
  std::atomic<int> to_left{0}, to_right{0};
  constexpr int rounds = 20000;
  std::thread other([&] {
    for (int i = 1; i <= rounds; ++i) {
      await(right, to_right, i);
      to_left.fetch_add(1);
      left.ring();
    }
  });
  for (int i = 1; i <= rounds; ++i) {
    to_right.fetch_add(1);
    right.ring();
    await(left, to_left, i);
  }
  other.join();
  EXPECT_EQ(to_left.load(), rounds);
}

TEST(Parking, ManySignallersWakeOneWaiter) {
  hp::doorbell bell;
  std::atomic<int> count{0};
  constexpr int each = 5000;
  std::thread a([&] {
    for (int i = 0; i < each; ++i) {
      count.fetch_add(1);
      bell.ring();
    }
  });
  std::thread b([&] {
    for (int i = 0; i < each; ++i) {
      count.fetch_add(1);
      bell.ring();
    }
  });
  await(bell, count, 2 * each);
  a.join();
  b.join();
  EXPECT_EQ(count.load(), 2 * each);
}

TEST(Parking, ARingBeforeTheSleepIsKept) {
  hp::doorbell bell;
  const std::uint32_t seen = bell.prepare();
  bell.ring();
  bell.park(seen);
  EXPECT_EQ(bell.parked.load(), 0U);
  bell.ring();
  EXPECT_EQ(bell.rings.load(), 1U) << "a ring that nobody waits for leaves no trace";
}

TEST(Parking, ATimeoutEndsTheSleep) {
  hp::doorbell bell;
  const auto start = std::chrono::steady_clock::now();
  bell.park(bell.prepare(), 2'000'000);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::microseconds(500));
  EXPECT_EQ(bell.parked.load(), 0U);
}

TEST(Parking, ASleepLastsUntilItsTime) {
  const std::int64_t end = hp::detail::steady_nanoseconds() + 2'000'000;
  hp::detail::sleep_until(end);
  EXPECT_GE(hp::detail::steady_nanoseconds(), end);
  hp::detail::sleep_until(0);  // long past: returns
}

}  // namespace
