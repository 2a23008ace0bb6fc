// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include <hyperparallel/kernels/keyed_random.hpp>

namespace hp = hyperparallel;

namespace {

static_assert(hp::detail::mix_bits(0) == 0xe220a8397b1dcdafU);  // first output of SplitMix64 from seed 0
static_assert(hp::keyed_uniform(1, 2, 3) == hp::keyed_uniform(1, 2, 3));

TEST(keyed_random, stays_in_range_and_fills_it) {
  double sum = 0, squares = 0;
  float least = 1, most = -1;
  const int n = 200000;
  for (int i = 0; i < n; ++i) {
    const float x = hp::keyed_uniform(42, 7, static_cast<std::uint64_t>(i));
    ASSERT_GE(x, -1.0F);
    ASSERT_LT(x, 1.0F);
    least = std::min(least, x);
    most = std::max(most, x);
    sum += x;
    squares += static_cast<double>(x) * x;
  }
  EXPECT_LT(least, -0.999F);
  EXPECT_GT(most, 0.999F);
  EXPECT_NEAR(sum / n, 0.0, 5 * std::sqrt(1.0 / 3 / n));
  EXPECT_NEAR(squares / n, 1.0 / 3, 0.005);
}

TEST(keyed_random, a_sequence_draws_the_numbers_of_its_seed_in_order) {
  hp::detail::keyed_sequence draw{9};
  for (std::uint64_t i = 0; i < 50; ++i) EXPECT_EQ(draw(), hp::keyed_bits(9, 0, i));
}

TEST(keyed_random, every_part_of_the_key_matters) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (std::uint64_t stream = 0; stream < 20; ++stream)
      for (std::uint64_t index = 0; index < 20; ++index) seen.insert(hp::keyed_bits(seed, stream, index));
  EXPECT_EQ(seen.size(), 8000U);
}

}  // namespace
