// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/profile.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

namespace {

namespace hp = hyperparallel;

static_assert(std::is_empty_v<hp::no_profile> && !hp::no_profile::enabled && hp::record_profile::enabled);

TEST(Profile, ARestartForgetsAndTimesCountFromIt) {
  hp::record_profile p;
  p.size_for(2);
  for (int round = 0; round < 3; ++round) {
    p.restart();
    EXPECT_EQ(p.task[0].worker, -1);
    EXPECT_EQ(p.task[0].end, 0);
    EXPECT_EQ(p.task[0].wait, -1);
    p.blocked(0);
    const std::int64_t blocked = p.task[0].wait;
    p.blocked(0);  // looked again: it has waited since the first time
    EXPECT_EQ(p.task[0].wait, blocked);
    p.began(0, 5);
    p.ended(0);
    p.signalled(0);
    EXPECT_GE(p.task[0].start, blocked);
    EXPECT_GE(p.task[0].signalled, p.task[0].end);
    EXPECT_EQ(p.task[0].worker, 5);
    EXPECT_GE(p.task[0].start, 0);
    EXPECT_GE(p.task[0].end, p.task[0].start);
    EXPECT_GE(p.now(), p.task[0].end);
    EXPECT_EQ(p.task[1].worker, -1);
  }
}

}  // namespace
