// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/gradient.hpp>
#include <hyperparallel/dtensor/operations/contraction.hpp>
#include <hyperparallel/dtensor/operations/elementwise.hpp>
#include <hyperparallel/dtensor/operations/indexing.hpp>
#include <hyperparallel/dtensor/operations/normalization.hpp>
#include <hyperparallel/dtensor/operations/reduction.hpp>

#include <gtest/gtest.h>

#include "dtensor/traced_world.hpp"

namespace {

using namespace small_world;

/// The gradient of Σ f(x)² on rows over dp is that on one device, and the slope.
template <class F>
void expect_gradient(const F& f) {
  const auto square = [&](const auto& x) {
    const auto y = f(x);
    return sum(y * y);
  };
  const std::vector<double> many = hp::gradient(square, waves<rows>(1)).full_tensor();
  const std::vector<double> one = hp::gradient(square, waves<whole>(1)).full_tensor();
  const auto value = [&](const whole& x) { return square(traced(x)).value().full_tensor()[0]; };
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(many[i], one[i], 1e-12);
  for (const std::size_t i : {0U, 7U, 23U}) EXPECT_NEAR(one[i], slope(value, waves<whole>(1), i), 1e-7);
}

TEST(TracedGradients, HaveTheirGradients) {
  const auto w = waves<tensor<on<none, none>, 6, 8>>(2);
  const auto t = waves<transposed>(3);
  const auto s = waves<weight>(4);
  expect_gradient([&](const auto& x) { return rms_norm(matmul(x, w) * 0.5, waves<tensor<on<none>, 8>>()); });
  expect_gradient([&](const auto& x) { return linear(rms_norm(x, s), t); });
  expect_gradient([&](const auto& x) { return layer_norm(silu(x), s, s); });
  expect_gradient([](const auto& x) { return softmax(gelu(x)) + sigmoid(x) * gelu_tanh(x); });
  expect_gradient([](const auto& x) { return swiglu(x, x) * 3; });
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
  expect_gradient([](const auto& x) { return sum<1>(x * x); });
  expect_gradient([](const auto& x) { return sum<0>(x).reduce_partial(); });
  expect_gradient([](const auto& x) { return mean<-1>(silu(x)); });
  expect_gradient([](const auto& x) { return mean<0>(silu(x)).reduce_partial(); });
}

}  // namespace
