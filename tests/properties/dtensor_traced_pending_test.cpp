// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/gradient.hpp>
#include <hyperparallel/dtensor/operations/contraction.hpp>
#include <hyperparallel/dtensor/operations/elementwise.hpp>
#include <hyperparallel/dtensor/operations/indexing.hpp>
#include <hyperparallel/dtensor/operations/normalization.hpp>
#include <hyperparallel/dtensor/operations/reduction.hpp>

#include <gtest/gtest.h>

#include <tuple>

#include "dtensor/traced_world.hpp"

namespace {

using namespace small_world;

using pending_rows = tensor<on<none, none, hp::partial("dp")>, 4, 6>;
using pending_mean = hp::dtensor<double, hp::extents<4, 6>, on<none, none, hp::partial("dp", hp::reduce_op::avg)>>;

template <class Tensor, class F>
void expect_pending(const F& f) {
  expect_same_value(f, waves<Tensor>(1));
  const auto square = [&](const auto& x) {
    const auto y = f(x).reduce_partial();
    return sum(y * y);
  };
  const auto d = hp::gradient(square, waves<Tensor>(1));
  const std::vector<double> got = d.full_tensor();
  const whole x = waves<Tensor>(1).template redistribute<on<none, none>>();
  const std::vector<double> expected = hp::gradient(square, x).full_tensor();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-11);
}

// A function that takes a pending sum on dtensors has a gradient there, which is that of the sum's value.
TEST(TracedPending, PendingSumsHaveGradients) {
  const auto w = waves<tensor<on<none, none>, 6, 8>>(2);
  const auto t = waves<tensor<on<none, none>, 8, 6>>(3);
  // Types of their own, whatever tensor they are called with: what they do on one device is compiled once.
  const std::tuple functions{
      [w](const auto& x) { return matmul(x, w); },
      [t](const auto& x) { return linear(x, t); },
      [](const auto& x) { return sum(x); },
      [](const auto& x) { return mean(x); },
      [](const auto& x) { return sum<0>(x); },
      [](const auto& x) { return mean<1>(x); },
      [](const auto& x) { return x * waves<whole>(4); },
      [](const auto& x) { return (x + x) * 0.5; },
      [](const auto& x) { return waves<tensor<layout_of<decltype(x)>, 4, 6>>(3) - -x; },
      [](const auto& x) { return x / exp(waves<whole>(4)); },
  };
  std::apply([](const auto&... f) { (expect_pending<pending_rows>(f), ...); }, functions);
  std::apply([](const auto&... f) { (expect_pending<pending_mean>(f), ...); }, functions);
  const auto id = hp::generate<hp::dtensor<std::int32_t, hp::extents<3>, on<none>>>(
      group(), [](hp::extent_t i) { return static_cast<std::int32_t>(3 - i); });
  expect_pending<pending_rows>([&](const auto& table) { return embedding(id, table); });
}

// The other operand's gradient reads the pending sum, and waits for it.
TEST(TracedPending, AWeightBehindAPendingSumHasItsGradient) {
  const auto program = [](const auto& w, const auto& x) { return sum(matmul(x, w).reduce_partial()); };
  const auto w = waves<tensor<on<none, none>, 6, 8>>(2);
  const auto d = hp::gradient(program, w, waves<pending_rows>(1));
  static_assert(std::is_same_v<layout_of<decltype(d)>, on<none, none, hp::partial("dp")>>);
  const whole x = waves<pending_rows>(1).reduce_partial();
  const std::vector<double> got = d.full_tensor(), expected = hp::gradient(program, w, x).full_tensor();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-12);
}

TEST(TracedPending, ADivisorBelowAPendingSumHasItsGradient) {
  const auto program = [](const auto& y, const auto& x) { return sum((x / y).reduce_partial()); };
  const auto y = hp::exp(waves<whole>(2));
  const auto d = hp::gradient(program, y, waves<pending_rows>(1));
  static_assert(std::is_same_v<layout_of<decltype(d)>, on<none, none, hp::partial("dp")>>);
  const whole x = waves<pending_rows>(1).reduce_partial();
  const std::vector<double> got = d.full_tensor(), expected = hp::gradient(program, y, x).full_tensor();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-12);
}

}  // namespace
