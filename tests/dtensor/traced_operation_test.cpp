// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/traced_operation.hpp>

#include <hyperparallel/dtensor/gradient.hpp>

#include <gtest/gtest.h>

#include "dtensor/small_world.hpp"

namespace {

using namespace small_world;
namespace ops = hp::ops;

using rows = tensor<on<"dp", none>, 4, 8>;
using weights = tensor<on<none>, 8>;

/// x · |x|, a user's own.
struct signed_square_gradient {
  static constexpr const char *name = "signed_square_gradient", *text = "*,*->*";
  template <class T>
  static void run(hp::const_view<T> dy, hp::const_view<T> x, hp::tensor_view<T> dx) {
    for (hp::extent_t i = 0; i < hp::volume(dx); ++i) dx.data[i] = 2 * std::abs(x.data[i]) * dy.data[i];
  }
};
struct signed_square {
  static constexpr const char *name = "signed_square", *text = "*->*";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<signed_square_gradient>("g0,x0>0");
  }
  template <class T>
  static void run(hp::const_view<T> x, hp::tensor_view<T> y) {
    for (hp::extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = x.data[i] * std::abs(x.data[i]);
  }
};

template <class Tensor>
auto total(const Tensor& x) {
  return hp::apply<ops::reduce, "*->">(x);
}

TEST(TracedOperation, AUsersOperatorHasItsGradient) {
  const auto d = hp::gradient([](const auto& x) { return total(hp::apply<signed_square>(x)); }, waves<rows>());
  static_assert(std::is_same_v<std::remove_const_t<decltype(d)>, rows>);
  const std::vector<double> x = waves<rows>().full_tensor(), got = d.full_tensor();
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(got[i], 2 * std::abs(x[i]));
}

// Attributes and the step reach the backward operators: the same elements are dropped, and others another time.
TEST(TracedOperation, DropoutDropsTheSameBackwards) {
  const auto at = [](std::int64_t step) {
    const hp::operator_attributes half{.integer = {7, 1}, .real = {0.5}};
    const auto program = [&](const auto& x) { return total(hp::apply<ops::dropout>(hp::at_step{step}, half, x)); };
    const auto kept = hp::apply<ops::dropout>(hp::at_step{step}, half, hp::ones<rows>(group())).full_tensor();
    EXPECT_EQ(hp::gradient(program, waves<rows>()).full_tensor(), kept);
    return kept;
  };
  EXPECT_NE(at(1), at(2));
  EXPECT_EQ(at(3), at(3));
}

// Numbers have no gradient; what is made beside them has.
TEST(TracedOperation, IndicesAreNoVariables) {
  const auto x = hp::detail::argument_of<true, 0>(waves<rows>());
  const auto [weight, index] = hp::apply<hp::listed<ops::top_k>{{.integer = {2}}, {{'K'}, {2}}}>(x);
  static_assert(hp::variable_type<std::remove_cvref_t<decltype(weight)>>);
  static_assert(hp::dtensor_type<std::remove_cvref_t<decltype(index)>>);
}

// What a rule refuses pending is reduced where the value lies: the same numbers as reduced by hand.
TEST(TracedOperation, ARefusedPendingGradientIsReduced) {
  using wide = tensor<on<none, "tp">, 8, 4>;
  const auto program = [](const auto& x, const auto& w) {
    const auto n = hp::apply<ops::rms_norm>({.real = {1e-6}}, x, waves<weights>(1));
    return total(hp::apply<ops::contract, "bk,kn->bn">(n, w));  // d n is pending over tp
  };
  const auto d = hp::gradient(program, waves<rows>(), waves<wide>(2));
  static_assert(std::is_same_v<std::remove_const_t<decltype(d)>, rows>);
  const auto value = [&](const rows& x) {
    return program(hp::detail::argument_of<true, 0>(x), waves<wide>(2)).value().full_tensor()[0];
  };
  for (const std::size_t i : {0U, 9U, 31U}) EXPECT_NEAR(d.full_tensor()[i], slope(value, waves<rows>(), i), 1e-8);
}

}  // namespace
