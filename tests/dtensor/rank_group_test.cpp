// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/rank_group.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace hp = hyperparallel;

namespace {

TEST(rank_group, works_once_for_every_position_on_any_number_of_threads) {
  for (const int ranks : {1, 2, 7, 16})
    for (const int threads : {1, 2, 5}) {
      const hp::rank_group group(ranks, {.threads = threads, .pin = false});
      EXPECT_LE(group.threads(), ranks);
      for (int round = 0; round < 3; ++round) {
        std::vector<std::atomic<int>> visits(static_cast<std::size_t>(ranks));
        group.for_each_rank("count", [&](int p) { ++visits[static_cast<std::size_t>(p)]; });
        for (const std::atomic<int>& n : visits) EXPECT_EQ(n, 1);
      }
    }
}

TEST(rank_group, throws_the_error_of_the_lowest_position_and_works_again) {
  const hp::rank_group group(8, {.threads = 3, .pin = false});
  for (int round = 0; round < 3; ++round) {
    try {
      group.for_each_rank("divide", [](int p) {
        if (p == 6 || p == 3) throw std::runtime_error("by zero at " + std::to_string(p));
      });
      FAIL() << "nothing thrown";
    } catch (const hp::rank_error& e) {
      EXPECT_STREQ(e.what(), "divide failed at position 3: by zero at 3");
      EXPECT_EQ(e.position, 3);
      EXPECT_EQ(e.operation, "divide");
      EXPECT_THROW(std::rethrow_if_nested(e), std::runtime_error);
    }
    std::atomic<int> visits{0};
    group.for_each_rank("count", [&](int) { ++visits; });
    EXPECT_EQ(visits, 8);
  }
}

TEST(rank_group, runs_asked_for_inside_a_run_happen_on_the_spot) {
  const hp::rank_group group(4, {.threads = 2, .pin = false});
  std::atomic<int> visits{0};
  group.for_each_rank("outer", [&](int) { group.for_each_rank("inner", [&](int) { ++visits; }); });
  EXPECT_EQ(visits, 16);
}

TEST(rank_group, takes_runs_of_several_threads_in_turn) {
  const hp::rank_group group(4, {.threads = 2, .pin = false});
  std::atomic<int> inside{0}, visits{0};
  std::atomic<bool> apart{true};
  const auto use = [&] {
    for (int i = 0; i < 20; ++i) {
      group.for_each_rank("use", [&](int) {
        if (++inside > group.threads()) apart = false;
        ++visits;
        --inside;
      });
    }
  };
  std::thread other(use);
  use();
  other.join();
  EXPECT_TRUE(apart);
  EXPECT_EQ(visits, 160);
}

TEST(rank_group, copies_are_the_same_group) {
  const hp::rank_group a(2, {.threads = 1}), b(2, {.threads = 1});
  const hp::rank_group c = a;
  EXPECT_TRUE(a == c);
  EXPECT_FALSE(a == b);
  EXPECT_THROW(hp::rank_group(0), std::invalid_argument);
}

}  // namespace
