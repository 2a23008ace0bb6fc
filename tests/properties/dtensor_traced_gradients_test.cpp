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

TEST(TracedGradients, HaveTheirGradients) {
  const auto w = waves<tensor<on<none, none>, 6, 8>>(2);
  const auto t = waves<transposed>(3);
  const auto s = waves<weight>(4);
  expect_gradient([&](const auto& x) { return rms_norm(matmul(x, w) * 0.5, waves<tensor<on<none>, 8>>()); });
  expect_gradient([&](const auto& x) { return linear(rms_norm(x, s), t); });
  expect_gradient([&](const auto& x) { return layer_norm(silu(x), s, s); });
  expect_gradient([](const auto& x) { return softmax(gelu(x)) + sigmoid(x) * gelu_tanh(x); });
  expect_gradient([](const auto& x) { return swiglu(x, x) * 3; });
  expect_gradient([](const auto& x) { return sum<1>(x * x); });
  expect_gradient([](const auto& x) { return sum<0>(x).reduce_partial(); });
  expect_gradient([](const auto& x) { return mean<-1>(silu(x)); });
  expect_gradient([](const auto& x) { return mean<0>(silu(x)).reduce_partial(); });
}

}  // namespace
