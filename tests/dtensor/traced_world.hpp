// SPDX-License-Identifier: Apache-2.0
#pragma once
// A function of a variable beside the same function of its value: tensors of 4 x 6 numbers for both.

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

}  // namespace small_world
