// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/check/difference_quotient.hpp>

#include <gtest/gtest.h>

namespace {

using hyperparallel::detail::slope_at;

TEST(DifferenceQuotient, IsTheSlopeOfASmoothFunction) {
  double x = 0.7, slope = 0;
  EXPECT_TRUE(slope_at(x, slope, [&] { return x * x * x + std::sin(3 * x); }));
  EXPECT_NEAR(slope, 3 * 0.49 + 3 * std::cos(2.1), 1e-10);
  EXPECT_EQ(x, 0.7);
}

TEST(DifferenceQuotient, KnowsAStepAndARoughFunction) {
  double x = 0.70005, slope = 0;
  EXPECT_FALSE(slope_at(x, slope, [&] { return x < 0.7 ? 0.0 : 1.0; }));
  EXPECT_FALSE(slope_at(x, slope, [&] { return std::sin(1e6 * x); }));
  EXPECT_FALSE(slope_at(x, slope, [&] { return std::sqrt(x - 1); })) << "not a number";
}

}  // namespace
