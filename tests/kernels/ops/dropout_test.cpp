// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/ops/dropout.hpp>

#include <gtest/gtest.h>

#include "operator_cases.hpp"

namespace {

using namespace kernel_test;
using hp::id_of;
namespace ops = hp::ops;

std::vector<double> dropped(const case_options& options, std::int64_t step, extent_t n = 100'000) {
  std::mt19937 random(1);
  letter_extents extents("x", random);
  extents.of[static_cast<int>('x')] = n;
  run_case<double> c(id_of<ops::dropout>, "x->x", "n", options, extents, random);
  for (double& x : c.operand[0].values) x = 1;
  hp::operator_call call = c.whole();
  call.step = step;
  return c.run_box(call)[0].values;
}

TEST(Dropout, DropsItsShareAndKeepsTheMean) {
  const std::vector<double> y = dropped({{5, 7}, {0.3}}, 1);
  double mean = 0;
  for (const double v : y) {
    ASSERT_TRUE(v == 0 || v == 1 / 0.7) << v;
    mean += v / static_cast<double>(y.size());
  }
  EXPECT_NEAR(mean, 1, 0.01);  // five deviations
}

// The key is (seed, operator, step): any other one drops others, about as often alike as chance has it.
TEST(Dropout, OtherKeysDropOthers) {
  const std::vector<double> y = dropped({{5, 7}, {0.5}}, 1);
  EXPECT_EQ(dropped({{5, 7}, {0.5}}, 1), y);
  for (const std::vector<double>& other : {dropped({{6, 7}, {0.5}}, 1), dropped({{5, 8}, {0.5}}, 1),
                                           dropped({{5, 7}, {0.5}}, 2), dropped({{5, 7}, {0.5}}, 1 + (1LL << 40))}) {
    int alike = 0;
    for (std::size_t i = 0; i < y.size(); ++i) alike += y[i] == other[i] ? 1 : 0;
    EXPECT_NEAR(static_cast<double>(alike) / static_cast<double>(y.size()), 0.5, 0.01);
  }
}

TEST(Dropout, RefusesARateThatIsNone) {
  EXPECT_THROW(dropped({{}, {1.0}}, 1, 4), std::invalid_argument);
  EXPECT_THROW(dropped({{}, {-0.1}}, 1, 4), std::invalid_argument);
}

}  // namespace
