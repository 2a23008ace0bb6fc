// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/paced_queue.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace {

namespace hp = hyperparallel;
using clock_type = std::chrono::steady_clock;

double milliseconds_since(clock_type::time_point t) {
  return std::chrono::duration<double, std::milli>(clock_type::now() - t).count();
}

TEST(PacedQueue, NoCopyEndsBeforeItIsDue) {
  const hp::offload_link rate{1'000'000'000, 500'000'000};  // 1 byte a nanosecond after half a millisecond
  hp::paced_queue queue;
  const hp::kernel_call call{};
  int copies = 0;
  for (const std::int64_t bytes : {1'000'000, 0, 2'000'000, 10}) {
    const clock_type::time_point begin = clock_type::now();
    queue.carry(rate, bytes, call, [&] { ++copies; });
    const double due = bytes == 0 ? 0 : 0.5 + static_cast<double>(bytes) * 1e-6;
    // What came late is made good by the next one: only sums have a lower bound.
    EXPECT_GE(milliseconds_since(begin), due - 0.5);
  }
  EXPECT_EQ(copies, 4);
}

TEST(PacedQueue, ManyShortCopiesTakeAsLongAsTheirSum) {
  const hp::offload_link rate{1'000'000'000, 0};
  hp::paced_queue queue;
  const clock_type::time_point begin = clock_type::now();
  for (int i = 0; i < 100; ++i) queue.carry(rate, 200'000, {}, [] {});
  EXPECT_GE(milliseconds_since(begin), 20.0);
}

TEST(PacedQueue, WithoutARateItOnlyCopies) {
  hp::paced_queue queue;
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) queue.carry({}, 1'000'000'000'000, {}, [&] { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST(PacedQueue, ARunThatEndsDoesNotWaitForTheLink) {
  hp::run_condition condition;  // over
  hp::kernel_call call{};
  call.run = &condition;
  hp::paced_queue queue;
  bool copied = false;
  queue.carry({1, 0}, 1'000'000, call, [&] { copied = true; });  // 11 days
  EXPECT_TRUE(copied);
  EXPECT_TRUE(condition.noticed.load());
}

}  // namespace
