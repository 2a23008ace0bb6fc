// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/offload/link_calendar.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace hp = hyperparallel;

namespace {

constexpr hp::extent_t left_of_a_busy_link() {
  hp::link_calendar c(1000);
  c.hold(0, 400);
  c.take(300, 400, 1000, true);
  return c.lacking(500, 0, 1000);
}
static_assert(left_of_a_busy_link() == 500 - 300);

TEST(link_calendar, never_gives_more_than_there_is) {
  std::mt19937 bits(1);
  const auto below = [&bits](hp::extent_t n) { return static_cast<hp::extent_t>(bits() % static_cast<unsigned>(n)); };
  for (int i = 0; i < 500; ++i) {
    const hp::extent_t period = 128 * (1 + below(50)) - 1;  // slots fill it exactly
    hp::link_calendar c(period);
    hp::extent_t taken = 0;
    for (int k = 0; k < 30; ++k) {
      const hp::extent_t from = below(period), to = from + below(period - from + 1), time = below(period);
      const hp::extent_t lacks = c.lacking(time, from, to), before = c.lacking(INT32_MAX, 0, period + 1);
      EXPECT_GE(lacks, std::max<hp::extent_t>(0, time - (to - from)));
      EXPECT_LE(lacks, time);
      if (k % 3 == 0) {
        c.hold(from, to);
        const hp::extent_t gone = c.lacking(INT32_MAX, 0, period + 1) - before;
        EXPECT_LE(gone, to - from);
        taken += gone;
        continue;
      }
      c.take(time, from, to, k % 2 == 0);
      EXPECT_EQ(c.lacking(INT32_MAX, 0, period + 1) - before, time - lacks);
      taken += time - lacks;
    }
    EXPECT_LE(taken, period + 1);
    EXPECT_EQ(c.lacking(INT32_MAX, 0, period + 1), INT32_MAX - (period + 1 - taken));
  }
}

TEST(link_calendar, takes_from_the_end_that_is_asked_for) {
  hp::link_calendar c(1279);  // slots of ten
  c.take(100, 0, 1280, true);
  EXPECT_EQ(c.lacking(10, 0, 100), 10);
  EXPECT_EQ(c.lacking(10, 100, 200), 0);
  c.take(100, 0, 1280, false);
  EXPECT_EQ(c.lacking(10, 1180, 1280), 10);
  EXPECT_EQ(c.lacking(10, 1000, 1180), 0);
}

}  // namespace
