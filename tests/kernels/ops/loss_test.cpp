// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/ops/loss.hpp>

#include <gtest/gtest.h>

#include "operator_cases.hpp"

namespace {

using namespace kernel_test;
using hp::id_of;
using hp::operator_id;
namespace ops = hp::ops;

// The parts put together are −log softmax(x)[label], also where e^x alone would overflow.
TEST(Loss, PartsMakeTheCrossEntropy) {
  std::mt19937 random(1);
  for (const double shift : {0.0, 5000.0}) {
    run_case<double> most(id_of<ops::reduce>, "xv->x", "n", {{}, {}, hp::reduce_op::max}, random);
    for (double& x : most.operand[0].values) x += shift;
    letter_extents extents("", random);
    extents.of[static_cast<int>('x')] = most.op.loop[0].extent;
    extents.of[static_cast<int>('v')] = most.op.loop[1].extent;
    run_case<double> total(id_of<ops::exp_sum>, "xv,x->x", "nn", {}, extents, random);
    run_case<double> picked(id_of<ops::pick>, "xv,x->x", "nl", {}, extents, random);
    run_case<double> loss(id_of<ops::token_loss>, "x,x,x,x->x", "nnnl", {}, extents, random);
    run_case<double> gradient(id_of<ops::cross_entropy_gradient>, "x,xv,x,x,x->xv", "nnnnl", {}, extents, random);
    picked.operand[1].indices[0] = -1;
    total.operand[0] = picked.operand[0] = gradient.operand[1] = most.operand[0];
    most.run_whole();
    total.operand[1] = most.result[0];
    total.run_whole();
    picked.run_whole();
    loss.operand = {most.result[0], total.result[0], picked.result[0], picked.operand[1]};
    loss.run_whole();
    gradient.operand = {gradient.operand[0], gradient.operand[1], most.result[0], total.result[0], picked.operand[1]};
    gradient.run_whole();
    const std::size_t v = at(most.op.loop[1].extent);
    for (std::size_t r = 0; r < loss.result[0].values.size(); ++r) {
      const std::int32_t label = picked.operand[1].indices[r];
      const double* const x = most.operand[0].values.data() + r * v;
      double sum = 0;
      for (std::size_t i = 0; i < v; ++i) sum += std::exp(x[i] - shift);
      EXPECT_NEAR(loss.result[0].values[r], label < 0 ? 0 : std::log(sum) - (x[label] - shift), 2e-12);
      for (std::size_t i = 0; i < v; ++i) {
        const double hit = label == static_cast<std::int32_t>(i) ? 1 : 0;
        const double expected = label < 0 ? 0 : gradient.operand[0].values[r] * (std::exp(x[i] - shift) / sum - hit);
        EXPECT_NEAR(gradient.result[0].values[r * v + i], expected, 1e-12);
      }
    }
  }
}

TEST(Loss, ReductionsOfManyTermsAreAccurate) {
  std::mt19937 random(2);
  letter_extents extents("", random);
  extents.of[static_cast<int>('x')] = 3000;
  extents.of[static_cast<int>('y')] = 17;
  for (const char* text : {"xy->y", "yx->y"}) {
    run_case<float> c(id_of<ops::reduce>, text, "n", {}, extents, random);
    for (float& x : c.operand[0].values) x = 0.1F;
    c.run_whole();
    for (const float sum : c.result[0].values) EXPECT_EQ(sum, static_cast<float>(3000 * static_cast<double>(0.1F)));
    run_case<float> most(id_of<ops::reduce>, text, "n", {{}, {}, hp::reduce_op::max}, extents, random);
    for (float& x : most.operand[0].values) x = -std::fabs(x) - 1;
    most.operand[0].values[most.operand[0].values.size() - 1] = -0.5F;
    most.run_whole();
    EXPECT_EQ(most.result[0].values.back(), -0.5F);
    EXPECT_LT(most.result[0].values.front(), -0.9F) << "below zero, not an initial zero";
  }
}

TEST(Loss, RefusesOtherReductions) {
  std::mt19937 random(3);
  run_case<float> c(id_of<ops::reduce>, "xy->x", "n", {{}, {}, hp::reduce_op::prod}, random);
  EXPECT_THROW(c.run_whole(), std::invalid_argument);
}

TEST(Loss, FillsEverywhere) {
  std::mt19937 random(4);
  run_case<float> c(id_of<ops::fill>, "->xy", "", {{}, {0.25}}, random);
  c.run_whole();
  for (const float x : c.result[0].values) EXPECT_EQ(x, 0.25F);
}

}  // namespace
