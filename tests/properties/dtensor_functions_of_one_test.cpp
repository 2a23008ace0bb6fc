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
  expect_unary("identity", op::cast<std::int64_t>{}, hp::i64);
  expect_unary("neg", hp::elementwise<hp::ops::negate>{}, hp::i64);
  expect_unary("abs", hp::elementwise<hp::ops::abs>{}, hp::i64);
  expect_unary("square", hp::elementwise<hp::ops::square>{}, hp::i64);
  expect_unary("relu", hp::elementwise<hp::ops::relu>{}, hp::i64);
  expect_unary("logical_not", hp::elementwise<hp::ops::logical_not>{}, hp::i64, truths);
  expect_unary("cast", op::cast<double>{}, hp::i64);
  expect_unary("scale", op::scale<int>{3}, hp::i64);
  expect_unary("shift", op::shift<int>{-5}, hp::i64);
}

TEST(dtensor_functions_of_one, floats) {
  expect_unary("exp", hp::elementwise<hp::ops::exp>{}, hp::f64);
  expect_unary("log", hp::elementwise<hp::ops::log>{}, hp::f64, positive);
  expect_unary("sqrt", hp::elementwise<hp::ops::sqrt>{}, hp::f64, positive);
  expect_unary("rsqrt", hp::elementwise<hp::ops::rsqrt>{}, hp::f64, positive);
  expect_unary("sin", hp::elementwise<hp::ops::sin>{}, hp::f32);
  expect_unary("cos", hp::elementwise<hp::ops::cos>{}, hp::f32);
  expect_unary("tanh", hp::elementwise<hp::ops::tanh>{}, hp::f32);
  expect_unary("sigmoid", hp::elementwise<hp::ops::sigmoid>{}, hp::f32);
  expect_unary("silu", hp::elementwise<hp::ops::silu>{}, hp::f32);
  expect_unary("gelu", hp::elementwise<hp::ops::gelu>{}, hp::f32);
  expect_unary("gelu_tanh", hp::elementwise<hp::ops::gelu_tanh>{}, hp::f32);
}

}  // namespace
