// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/crew.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace {

namespace hp = hyperparallel;

struct tally {
  std::vector<int> runs;
  std::thread::id caller;
  bool caller_is_zero = true;
};

void count(void* self, int worker) {
  tally& t = *static_cast<tally*>(self);
  t.runs[static_cast<std::size_t>(worker)]++;
  if (worker == 0 && std::this_thread::get_id() != t.caller) t.caller_is_zero = false;
}

TEST(Crew, EveryWorkerRunsOncePerRunAndTheCallerIsWorkerZero) {
  for (const int workers : {1, 2, 5})
    for (const int spin : {0, 100}) {
      tally t{std::vector<int>(static_cast<std::size_t>(workers), 0), std::this_thread::get_id()};
      hp::crew c(workers, {}, spin, count, &t);
      for (int round = 1; round <= 300; ++round) {
        c.run(-1, [] {});
        for (const int n : t.runs) ASSERT_EQ(n, round);
      }
      EXPECT_TRUE(t.caller_is_zero);
    }
}

TEST(Crew, TicksWhileTheCallerWaits) {
  hp::crew c(
      2, {}, 0,
      [](void*, int worker) {
        if (worker == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      },
      nullptr);
  int ticks = 0;
  c.run(1'000'000, [&] { ++ticks; });
  EXPECT_GE(ticks, 2);
  ticks = 0;
  c.run(-1, [&] { ++ticks; });
  EXPECT_EQ(ticks, 0);
}

TEST(Crew, WhoLeadsWaitsForNobodyAndTheOthersComeOnceForEachRun) {
  struct late_tally {
    std::atomic<int> zero{0}, others{0};
  };
  constexpr int rounds = 100;
  const std::vector<int> cores = hp::allowed_cores();
  for (const int spin : {0, 100}) {
    late_tally t;
    {
      hp::crew c(
          3, {}, spin,
          [](void* self, int worker) {
            late_tally& l = *static_cast<late_tally*>(self);
            ++(worker == 0 ? l.zero : l.others);
            if (worker == 1) std::this_thread::sleep_for(std::chrono::microseconds(50));
          },
          &t);
      for (int round = 1; round <= rounds; ++round) {
        c.lead(round % 2 == 0 ? cores : std::vector<int>{});
        EXPECT_EQ(t.zero, round);
      }
      while (t.others < 2 * rounds) std::this_thread::yield();
    }
    EXPECT_EQ(t.others, 2 * rounds);
  }
}

TEST(Crew, ACrewThatNeverRanLeaves) {
  for (int i = 0; i < 50; ++i) hp::crew c(3, {}, 0, count, nullptr);
}

}  // namespace
