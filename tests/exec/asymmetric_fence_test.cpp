// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/asymmetric_fence.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace {

namespace hp = hyperparallel;

TEST(AsymmetricFence, AtLeastOneOfTwoSeesTheOthersStore) {
  if (!hp::detail::has_asymmetric_fence()) {
    EXPECT_FALSE(hp::detail::has_asymmetric_fence());  // asked once, the answer stays
    return;
  }
  struct alignas(128) line {
    std::atomic<int> value{0};
  } x, y, begun, ended;
  constexpr int rounds = 3000;
  std::atomic<int> light_saw{0};
  std::thread light([&] {
    for (int i = 1; i <= rounds; ++i) {
      while (begun.value.load(std::memory_order_acquire) != i) std::this_thread::yield();
      x.value.store(i, std::memory_order_relaxed);
      hp::detail::light_fence();
      light_saw.store(y.value.load(std::memory_order_relaxed), std::memory_order_relaxed);
      ended.value.store(i, std::memory_order_release);
    }
  });
  for (int i = 1; i <= rounds; ++i) {
    begun.value.store(i, std::memory_order_release);
    y.value.store(i, std::memory_order_relaxed);
    hp::detail::heavy_fence();
    const int heavy_saw = x.value.load(std::memory_order_relaxed);
    while (ended.value.load(std::memory_order_acquire) != i) std::this_thread::yield();
    EXPECT_TRUE(heavy_saw == i || light_saw.load(std::memory_order_relaxed) == i) << "round " << i;
  }
  light.join();
}

}  // namespace
