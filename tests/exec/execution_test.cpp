// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/execution.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace {

namespace hp = hyperparallel;
using hp::detail::run_end;

static_assert(hp::progress{}.period_nanoseconds() == -1);
constexpr hp::progress watched{[](void*, std::int64_t, std::int64_t) {}, nullptr, 20};
static_assert(watched.period_nanoseconds() == 20'000'000);
static_assert(hp::progress{watched.report, nullptr, 0}.period_nanoseconds() == 1'000'000);

TEST(Execution, OneOfTwoReasonsWins) {
  hp::detail::run_ending ending;
  EXPECT_FALSE(ending.claim(run_end::cancelled)) << "nothing runs yet";
  for (int round = 0; round < 500; ++round) {
    ending.restart();
    ASSERT_TRUE(ending.running(std::memory_order_seq_cst));
    std::atomic<int> winners{0};
    std::thread other([&] { winners += ending.claim(run_end::task_failed); });
    winners += ending.claim(run_end::deadlocked);
    other.join();
    ASSERT_EQ(winners.load(), 1);
    ASSERT_FALSE(ending.running(std::memory_order_seq_cst));
    ASSERT_FALSE(ending.claim(run_end::cancelled));
    ASSERT_NE(ending.close(), run_end::running);
    ASSERT_FALSE(ending.claim(run_end::cancelled)) << "the run is over";
  }
}

}  // namespace
