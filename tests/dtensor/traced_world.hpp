// SPDX-License-Identifier: Apache-2.0
#pragma once
// A function of a variable beside the same function of its value: tensors of 4 x 6 numbers for both.

#include <hyperparallel/dtensor/gradient.hpp>
#include <hyperparallel/dtensor/operations/elementwise.hpp>
#include <hyperparallel/dtensor/operations/reduction.hpp>
#include <hyperparallel/dtensor/variable.hpp>

#include <gtest/gtest.h>

#include "dtensor/small_world.hpp"

namespace small_world {

using rows = tensor<on<"dp", none>, 4, 6>;
using whole = tensor<on<none, none>, 4, 6>;
using columns = tensor<on<none, "tp">, 6, 8>;
using transposed = tensor<on<"tp", none>, 8, 6>;
using weight = tensor<on<none>, 6>;
using by_class = tensor<on<"dp", "tp">, 4, 6>;
using labels = hp::dtensor<std::int32_t, hp::extents<4>, on<"dp">>;
using all_labels = hp::dtensor<std::int32_t, hp::extents<4>, on<none>>;

template <class Tensor>
auto traced(const Tensor& x) {
  return hp::detail::argument_of<true, 0>(x);
}

/// f of a variable and of its value: the same bits.
template <class F, class Tensor>
void expect_same_value(const F& f, const Tensor& x) {
  const auto with = f(traced(x));
  const auto without = f(x);
  static_assert(
      std::is_same_v<typename std::remove_cvref_t<decltype(with)>::tensor, std::remove_cvref_t<decltype(without)>>);
  EXPECT_EQ(with.value().full_tensor(), without.full_tensor());
}

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

}  // namespace small_world
