// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/operations/elementwise.hpp>

#include <gtest/gtest.h>

#include "properties/operator_cases.hpp"

namespace {

namespace hp = hyperparallel;
namespace op = hp::operations;
using namespace properties;
using worlds::numbers;

template <class Description>
void expect_unary(const char* name, const Description& d, hp::data_type type, const numbers& of = {}) {
  EXPECT_TRUE(holds(name, [&] { return drawn<Description, 1>{d, {any_dims(*rc::gen::inRange(0, 4))}, {type}, {of}}; }))
      << name;
}

constexpr numbers positive{.low = 1, .high = 9};
constexpr numbers truths{.truths = true};

TEST(dtensor_functions_of_one, whole_numbers) {
  expect_unary("identity", op::identity{}, hp::i64);
  expect_unary("neg", op::neg{}, hp::i64);
  expect_unary("abs", op::abs{}, hp::i64);
  expect_unary("square", op::square{}, hp::i64);
  expect_unary("relu", op::relu{}, hp::i64);
  expect_unary("logical_not", op::logical_not{}, hp::i64, truths);
  expect_unary("cast", op::cast<double>{}, hp::i64);
  expect_unary("scale", op::scale<int>{3}, hp::i64);
  expect_unary("shift", op::shift<int>{-5}, hp::i64);
}

TEST(dtensor_functions_of_one, floats) {
  expect_unary("exp", op::exp{}, hp::f64);
  expect_unary("log", op::log{}, hp::f64, positive);
  expect_unary("sqrt", op::sqrt{}, hp::f64, positive);
  expect_unary("rsqrt", op::rsqrt{}, hp::f64, positive);
  expect_unary("sin", op::sin{}, hp::f32);
  expect_unary("cos", op::cos{}, hp::f32);
  expect_unary("tanh", op::tanh{}, hp::f32);
  expect_unary("sigmoid", op::sigmoid{}, hp::f32);
  expect_unary("silu", op::silu{}, hp::f32);
  expect_unary("gelu", op::gelu{}, hp::f32);
  expect_unary("gelu_tanh", op::gelu_tanh{}, hp::f32);
}

}  // namespace
