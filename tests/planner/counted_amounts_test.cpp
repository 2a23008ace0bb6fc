// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/counted_amounts.hpp>

#include <gtest/gtest.h>

#include <random>

namespace hp = hyperparallel;

__extension__ using wide = __int128;

static_assert(hp::counted_product(hp::extent_t{1} << 40, hp::extent_t{1} << 40) == hp::not_counted);
static_assert(hp::counted_product(2, 3, 5) == 30 && hp::counted_sum(2, 3, 5) == 10);
static_assert(hp::bytes_of_bits(7, 4) == 4);
static_assert(hp::bytes_of_bits(hp::extent_t{1} << 62, 4) == hp::not_counted);

// What is counted is exact, in 128 bits; what is not leaves 64.
TEST(CountedAmounts, ExactOrNotCounted) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 5000; ++i) {
    const auto any = [&] { return static_cast<hp::extent_t>((random() >> 1) >> (random() % 63)); };
    const hp::extent_t a = any(), b = any();
    const wide product = static_cast<wide>(a) * b, sum = static_cast<wide>(a) + b;
    const auto counted = [](wide n) { return n < hp::not_counted ? static_cast<hp::extent_t>(n) : hp::not_counted; };
    EXPECT_EQ(hp::counted_product(a, b), counted(product));
    EXPECT_EQ(hp::counted_sum(a, b), counted(sum));
  }
}
