// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/gradient.hpp>
#include <hyperparallel/dtensor/operations/elementwise.hpp>
#include <hyperparallel/dtensor/operations/reduction.hpp>

#include <gtest/gtest.h>

#include "dtensor/traced_world.hpp"

namespace {

using namespace small_world;

TEST(TracedArithmetic, HasItsGradients) {
  expect_gradient([](const auto& x) { return relu(x) / exp(x) + tanh(x); });
  expect_gradient([](const auto& x) { return x * x - 3 * tanh(-x); });
  expect_gradient([](const auto& x) { return log(x * x + 0.5) + sqrt(exp(x)); });
  expect_gradient([](const auto& x) { return maximum(x, x * x) / exp(x * x); });
  expect_gradient([](const auto& x) {
    const auto other = waves<tensor<layout_of<decltype(x)>, 4, 6>>(5);
    return (other - x) * (x - other);
  });
  expect_gradient([](const auto& x) {
    const auto other = waves<tensor<layout_of<decltype(x)>, 4, 6>>(5);
    return maximum(other / (x * x + exp(x)), mul(x, other)) / exp(other);
  });
}

}  // namespace
