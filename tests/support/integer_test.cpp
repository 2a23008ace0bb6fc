// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/support/integer.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

namespace {

namespace hp = hyperparallel;

static_assert(hp::ceil_divide(10, 4) == 3 && hp::ceil_divide(0, 4) == 0);
static_assert(hp::greatest_common_divisor(12, 18) == 6 && hp::greatest_common_divisor(0, 7) == 7);

TEST(integer, ceil_division_is_the_least_chunk_that_covers) {
  for (hp::extent_t a = 0; a < 60; ++a)
    for (hp::extent_t b = 1; b < 20; ++b) {
      const hp::extent_t chunk = hp::ceil_divide(a, b);
      EXPECT_GE(chunk * b, a);
      if (chunk > 0) {
        EXPECT_LT((chunk - 1) * b, a);
      }
    }
}

TEST(integer, greatest_common_divisor_agrees_with_the_standard) {
  for (hp::extent_t a = 0; a < 60; ++a)
    for (hp::extent_t b = 0; b < 60; ++b) EXPECT_EQ(hp::greatest_common_divisor(a, b), std::gcd(a, b));
}

TEST(integer, smaller_and_larger_split_a_pair) {
  for (hp::extent_t a = -3; a < 4; ++a)
    for (hp::extent_t b = -3; b < 4; ++b) {
      EXPECT_LE(hp::smaller(a, b), hp::larger(a, b));
      EXPECT_EQ(hp::smaller(a, b) + hp::larger(a, b), a + b);
    }
}

TEST(integer, checked_arithmetic_says_where_it_leaves_64_bits) {
  const hp::extent_t most = std::numeric_limits<hp::extent_t>::max();
  EXPECT_EQ(hp::checked_multiply(most / 2, 2).value, most / 2 * 2);
  EXPECT_FALSE(hp::checked_multiply(most / 2, 2).overflow);
  EXPECT_TRUE(hp::checked_multiply(most / 2 + 1, 2).overflow);
  EXPECT_EQ(hp::checked_multiply(most, 2).value, 0);
  EXPECT_FALSE(hp::checked_add(most - 1, 1).overflow);
  EXPECT_TRUE(hp::checked_add(most, 1).overflow);
}

}  // namespace
