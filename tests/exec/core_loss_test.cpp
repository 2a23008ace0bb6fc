// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/core_loss.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>

namespace {

namespace hp = hyperparallel;
using hp::detail::core_loss;

constexpr std::int64_t millisecond = 1'000'000;

TEST(CoreLoss, APartThatIsMissingIsALossUntilManyLooksFoundTheCoreWhole) {
  for (const std::int64_t computed : {millisecond, millisecond * 3 / 4, millisecond * 3 / 4 - 1, std::int64_t{0}}) {
    core_loss c;
    EXPECT_FALSE(c.lost());
    const bool missing = computed < millisecond * 3 / 4;
    EXPECT_EQ(c.note(millisecond, computed), missing) << computed;
    EXPECT_EQ(c.lost(), missing);
    for (int i = 0; i < 256; ++i) {
      EXPECT_EQ(c.lost(), missing) << i;
      EXPECT_FALSE(c.note(millisecond, millisecond));
    }
    EXPECT_FALSE(c.lost());
  }
}

TEST(CoreLoss, AMomentSaysNothing) {
  core_loss c;
  EXPECT_FALSE(c.note(millisecond / 8 - 1, 0));
  EXPECT_FALSE(c.lost());
}

TEST(CoreLoss, LooksComeAboutOnceAMillisecondHoweverLongATaskIs) {
  for (const std::int64_t task : {10, 1000, 20'000, 3'000'000}) {
    core_loss c;
    c.restart();
    std::int64_t passed = 0, longest = 0;
    for (int look = 0; look < 40; ++look) {
      passed = 0;
      do passed += task;
      while (!c.due());
      c.note(passed, passed);
      c.restart();
      c.look();  // the first one: it counts nothing
      if (look >= 30) longest = passed > longest ? passed : longest;
    }
    EXPECT_LE(longest, task > 2 * millisecond ? task : 2 * millisecond);
    EXPECT_GE(longest, millisecond / 2);
  }
}

TEST(CoreLoss, AThreadThatSleepsComputesNothing) {
  if (hp::detail::thread_nanoseconds() < 0) GTEST_SKIP() << "the system does not tell";
  core_loss c;
  c.restart();
  EXPECT_FALSE(c.look()) << "there was none before";
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(c.look());
  EXPECT_TRUE(c.lost());

  core_loss asleep;
  asleep.look();
  asleep.restart();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  asleep.end();
  EXPECT_FALSE(asleep.lost()) << "a thread may sleep";
}

}  // namespace
