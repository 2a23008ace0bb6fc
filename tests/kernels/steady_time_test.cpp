// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/steady_time.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>

namespace hp = hyperparallel;

namespace {

TEST(SteadyTime, GoesOnAtTheRateOfTheSteadyClock) {
  const auto before = std::chrono::steady_clock::now();
  const std::int64_t first = hp::detail::steady_nanoseconds();
  std::int64_t other = 0;
  std::thread([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    other = hp::detail::steady_nanoseconds();
  }).join();
  const std::int64_t last = hp::detail::steady_nanoseconds();
  const std::chrono::nanoseconds all = std::chrono::steady_clock::now() - before;
  EXPECT_GE(other - first, 2'000'000);
  EXPECT_GE(last, other);
  EXPECT_LE(last - first, all.count());
}

}  // namespace
