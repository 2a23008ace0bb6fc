// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/controller/firing_gate.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace hp = hyperparallel;

namespace {

TEST(FiringGate, NobodySleepsThroughAChange) {
  constexpr int threads = 3, rounds = 2000;
  hp::detail::firing_gate gate;
  gate.open(threads);
  std::atomic<int> turn{0};
  const auto play = [&](int own) {
    const auto never_stuck = [&] { return true; };
    for (int i = 0; i < rounds; ++i) {
      gate.wait([&] { return turn.load() % threads == own; }, never_stuck);
      turn.fetch_add(1);
      gate.announce();
    }
    gate.leave(never_stuck);
  };
  {
    std::vector<std::jthread> all;
    for (int own = 0; own < threads; ++own) all.emplace_back(play, own);
  }
  EXPECT_EQ(turn, threads * rounds);
  EXPECT_FALSE(gate.stops());
}

TEST(FiringGate, AStandstillIsNoticedByTheLastThatWaitsOrLeaves) {
  const auto no = [] { return false; };
  for (const bool leaves : {false, true}) {
    hp::detail::firing_gate gate;
    gate.open(2);
    {
      const std::jthread sleeper([&] {
        gate.wait(no, no);
        gate.leave(no);
      });
      if (!leaves) gate.wait(no, no);
      gate.leave(no);
    }
    EXPECT_TRUE(gate.stands_still());
    EXPECT_TRUE(gate.stops());
    gate.open(1);
    EXPECT_FALSE(gate.stands_still());
  }
}

TEST(FiringGate, StopWakesAll) {
  hp::detail::firing_gate gate;
  gate.open(2);
  {
    const std::jthread sleeper([&] { gate.wait([] { return false; }, [] { return true; }); });
    gate.stop();
  }
  EXPECT_TRUE(gate.stops());
  EXPECT_FALSE(gate.stands_still());
}

}  // namespace
