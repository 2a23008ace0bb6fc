// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/operation_node.hpp>

#include <hyperparallel/dtensor/gradient.hpp>
#include <hyperparallel/dtensor/operations/elementwise.hpp>
#include <hyperparallel/dtensor/operations/reduction.hpp>

#include <gtest/gtest.h>

#include "dtensor/small_world.hpp"

namespace {

using namespace small_world;
namespace ops = hp::ops;
using argument_0 = std::index_sequence<0>;

using rows = tensor<on<"dp", none>, 4, 8>;

/// x², 3x; one backward operator reads both gradients.
struct square_and_triple_gradient {
  static constexpr const char *name = "square_and_triple_gradient", *text = "*,*,*->*";
  template <class T>
  static void run(hp::const_view<T> d0, hp::const_view<T> d1, hp::const_view<T> x, hp::tensor_view<T> dx) {
    for (hp::extent_t i = 0; i < hp::volume(dx); ++i) dx.data[i] = 2 * x.data[i] * d0.data[i] + 3 * d1.data[i];
  }
};
struct square_and_triple {
  static constexpr const char *name = "square_and_triple", *text = "*->*,*";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<square_and_triple_gradient>("g0,g1,x0>0");
  }
  template <class T>
  static void run(hp::const_view<T> x, hp::tensor_view<T> y, hp::tensor_view<T> z) {
    for (hp::extent_t i = 0; i < hp::volume(y); ++i) {
      y.data[i] = x.data[i] * x.data[i];
      z.data[i] = 3 * x.data[i];
    }
  }
};

// What nothing reads has the gradient 0; the other result's still goes through the backward operator that reads both.
TEST(OperationNode, AResultThatNothingReadsHasTheGradientZero) {
  const auto of_first = [](const auto& x) {
    const auto [first, second] = hp::apply<square_and_triple>(x);
    return sum(first) + sum(x * 10.0);
  };
  const auto of_second = [](const auto& x) { return sum(std::get<1>(hp::apply<square_and_triple>(x))); };
  const auto of_both = [](const auto& x) {
    const auto [first, second] = hp::apply<square_and_triple>(x);
    return sum(first) + sum(second);
  };
  const std::vector<double> x = waves<rows>().full_tensor();
  const auto d_first = hp::gradient(of_first, waves<rows>());
  static_assert(std::is_same_v<std::remove_const_t<decltype(d_first)>, rows>);
  const auto d_second = hp::gradient(of_second, waves<rows>()), d_both = hp::gradient(of_both, waves<rows>());
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(d_first.full_tensor()[i], 2 * x[i] + 10);
    EXPECT_EQ(d_second.full_tensor()[i], 3);
    EXPECT_EQ(d_both.full_tensor()[i], 2 * x[i] + 3);
  }
}

// A result that hands back a pending sum: the zeros take part by a fill.
TEST(OperationNode, ZerosMeetPendingGradients) {
  using wide = tensor<on<none, "tp">, 8, 4>;
  const auto program = [](const auto& x, const auto& w) {
    const auto [first, second] = hp::apply<square_and_triple>(x);
    return sum(hp::apply<ops::contract, "bk,kn->bn">(second, w));  // d second is pending over tp
  };
  const auto d = hp::gradient(program, waves<rows>(), waves<wide>(2)).full_tensor();
  const auto value = [&](const rows& x) {
    return program(hp::detail::argument_of<true, 0>(x), waves<wide>(2)).value().full_tensor()[0];
  };
  for (const std::size_t i : {0U, 9U, 31U}) EXPECT_NEAR(d[i], slope(value, waves<rows>(), i), 1e-8);
}

/// A copy, differentiated as `Text` says by `Backward`.
struct copied {
  static constexpr const char *name = "copied", *text = "ab->ab";
  template <class T>
  static void run(hp::const_view<T> x, hp::tensor_view<T> y) {
    for (hp::extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = x.data[i];
  }
};
struct whole_rows : copied {
  static constexpr const char *name = "whole_rows", *text = "aB->aB";
};
struct any_piece : copied {
  static constexpr const char *name = "any_piece", *text = "*->*";
};
template <class Backward, hp::fixed_string Text>
struct copying : copied {
  static constexpr const char* name = "copying";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<Backward>(Text.text);
  }
};
template <class Backward, hp::fixed_string Text>
struct program {
  template <class X>
  auto operator()(const X& x) const {
    return sum(hp::apply<copying<Backward, Text>>(x));
  }
};
template <class Backward, hp::fixed_string Text>
inline constexpr bool fits = hp::differentiable<program<Backward, Text>, argument_0, rows>;

// A backward operator runs on the shards of the forward operator, so its own rule is the one that the text writes.
static_assert(fits<copied, "g0>0"> && fits<any_piece, "g0>0">);
static_assert(!fits<whole_rows, "g0>0">, "it wants whole rows");
static_assert(!fits<square_and_triple_gradient, "g0,x0>0">, "it reads three tensors");
// A text names tensors that the operator has, and each gradient once.
static_assert(!fits<copied, "g0,x1>0"> && !fits<copied, "g0,x0>1"> && !fits<copied, "g0"> && !fits<copied, "">);
static_assert(!fits<copied, "g0,x0>00"> && !fits<copied, "g1>0"> && !fits<copied, "q0>0">);

// The value of an operator whose gradient does not fit is there all the same.
TEST(OperationNode, AnUnfitGradientLeavesTheValue) {
  const auto y = hp::apply<copying<whole_rows, "g0>0">>(hp::detail::argument_of<true, 0>(waves<rows>()));
  EXPECT_EQ(y.value().full_tensor(), waves<rows>().full_tensor());
  const auto z = hp::apply<copying<copied, "g0,x1>0">>(hp::detail::argument_of<true, 0>(waves<rows>()));
  EXPECT_EQ(z.value().full_tensor(), waves<rows>().full_tensor());
}

}  // namespace
