// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/operator_call.hpp>

#include <gtest/gtest.h>

#include "kernels/ops/operator_cases.hpp"

namespace {

using namespace kernel_test;

// Blocks hold the box: elements are counted from its extents, not from the whole.
TEST(OperatorCall, CountsTheElementsOfABox) {
  std::mt19937 random(1);
  const run_case<float> c(hp::id_of<hp::ops::contract>, "xk,kn->xn", "nn", {}, random);
  hp::operator_call call = c.whole();
  for (int l = 0; l < c.op.loop_count; ++l) {
    call.loop[l].begin = 1;
    call.loop[l].extent = c.letter_of(l) == 'x' ? 3 : c.letter_of(l) == 'k' ? 5 : 7;
  }
  EXPECT_EQ(call.operand_elements(0), 15);
  EXPECT_EQ(call.operand_elements(1), 35);
  EXPECT_EQ(call.result_elements(0), 21);
  const run_case<float> number(hp::id_of<hp::ops::clip_factor>, "->", "p", {}, random);
  EXPECT_EQ(number.whole().result_elements(0), 1);
}

}  // namespace
