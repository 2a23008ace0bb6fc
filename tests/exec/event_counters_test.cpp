// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/event_counters.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace {

namespace hp = hyperparallel;

// A wait of generation g holds exactly from the threshold-th signal of generation g on, across the wrap of the word.
constexpr bool generations_hold(std::uint32_t first_generation, std::uint32_t total) {
  std::uint32_t value = first_generation * total;
  for (std::uint32_t g = first_generation; g != first_generation + 20; ++g)
    for (std::uint32_t signals = 0; signals < total; ++signals, ++value)
      for (std::uint32_t threshold = 1; threshold <= total; ++threshold)
        if (hp::event_reached(value, hp::event_target(g, total, threshold)) != (signals >= threshold)) return false;
  return true;
}
static_assert(generations_hold(0, 3));
static_assert(generations_hold(0xffffffffU / 3 - 5, 3));
static_assert(generations_hold(0xfffffff0U, 5));
static_assert(!hp::event_reached(2, 3) && hp::event_reached(3, 3) && hp::event_reached(1, 0xffffffffU));

TEST(EventCounters, SignalsFromTwoThreadsAllCountAndCarryTheirWrites) {
  hp::event_counters events(2);
  int written = 0;
  std::thread other([&] {
    for (int i = 0; i < 10000; ++i) events.signal(0);
    written = 7;
    events.signal(1);
  });
  for (int i = 0; i < 10000; ++i) events.signal(0);
  while (!events.reached(1, 1)) hp::spin_pause();
  EXPECT_EQ(written, 7);
  EXPECT_EQ(events.value(0), 20000U);
  other.join();
}

TEST(EventCounters, ResetPutsAllToZero) {
  hp::event_counters events(3);
  for (int i = 0; i < 5; ++i) events.signal(2);
  EXPECT_EQ(events.value(2), 5U);
  EXPECT_FALSE(events.reached(2, 6));
  events.reset();
  for (int e = 0; e < events.count(); ++e) EXPECT_EQ(events.value(e), 0U);
}

}  // namespace
