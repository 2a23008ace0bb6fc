// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/ops/routing.hpp>

#include <gtest/gtest.h>

#include <numeric>

#include "operator_cases.hpp"

namespace {

using namespace kernel_test;
using hp::id_of;
using hp::operator_id;
namespace ops = hp::ops;

TEST(Routing, SoftmaxSumsToOneAndHoldsLargeScores) {
  std::mt19937 random(1);
  run_case<double> c(id_of<ops::softmax>, "xE->xE", "n", {}, random);
  c.operand[0].values[0] = 2000;
  c.operand[0].values[1] = 1999;
  c.run_whole();
  const extent_t width = c.op.loop[1].extent;
  for (extent_t r = 0; r < c.op.loop[0].extent; ++r) {
    double total = 0;
    for (extent_t i = 0; i < width; ++i) total += std::exp(c.operand[0].values[at(r * width + i)] - 2000);
    double sum = 0;
    for (extent_t i = 0; i < width; ++i) sum += c.result[0].values[at(r * width + i)];
    EXPECT_NEAR(sum, 1, 1e-15);
    if (r == 0) {
      EXPECT_NEAR(c.result[0].values[0], 1 / total, 1e-15);
      EXPECT_NEAR(c.result[0].values[1], std::exp(-1.0) / total, 1e-15);
    }
  }
}

// Few distinct values, so that ties are common; the choice is the head of a sort that keeps them in order.
TEST(Routing, ChoosesTheBestAndTiesGoToTheLowerIndex) {
  std::mt19937 random(2);
  letter_extents extents("", random);
  extents.of[static_cast<int>('x')] = 60;
  extents.of[static_cast<int>('E')] = 9;
  extents.of[static_cast<int>('K')] = 4;
  for (const bool biased : {false, true})
    for (const extent_t normalise : {0, 1}) {
      run_case<double> c(biased ? id_of<ops::biased_top_k> : id_of<ops::top_k>, biased ? "xE,E->xK,xK" : "xE->xK,xK",
                         biased ? "pn" : "p", {{0, normalise}, {1.5}}, extents, random);
      for (case_block<double>& block : c.operand)
        for (double& p : block.values) p = 0.25 * static_cast<double>(1 + random() % 4);
      c.run_whole();
      for (extent_t r = 0; r < 60; ++r) {
        const double* const p = c.operand[0].values.data() + r * 9;
        const auto key = [&](int e) { return p[e] + (biased ? c.operand[1].values[at(e)] : 0); };
        std::vector<int> order(9);
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [&](int a, int b) { return key(a) != key(b) ? key(a) > key(b) : a < b; });
        double chosen = 0;
        for (std::size_t j = 0; j < 4; ++j) chosen += p[order[j]];
        for (std::size_t j = 0; j < 4; ++j) {
          EXPECT_EQ(c.result[1].indices[at(r * 4) + j], order[j]);
          EXPECT_NEAR(c.result[0].values[at(r * 4) + j], 1.5 * p[order[j]] / (normalise != 0 ? chosen : 1), 1e-15);
        }
      }
    }
}

TEST(Routing, CountsAreOfTheWholeBatch) {
  std::mt19937 random(3);
  run_case<float> c(id_of<ops::count_experts>, "xK->e", "e", {}, random);
  c.run_whole();
  std::vector<float> expected(c.result[0].values.size());
  for (const std::int32_t e : c.operand[0].indices) expected[at(e)] += 1;
  EXPECT_EQ(c.result[0].values, expected);
}

TEST(Routing, RefusesMoreChoicesThanExperts) {
  std::mt19937 random(4);
  letter_extents extents("", random);
  extents.of[static_cast<int>('x')] = extents.of[static_cast<int>('E')] = 2;
  extents.of[static_cast<int>('K')] = 3;
  EXPECT_THROW(run_case<float>(id_of<ops::top_k>, "xE->xK,xK", "p", {{}, {1}}, extents, random).run_whole(),
               std::invalid_argument);
}

}  // namespace
