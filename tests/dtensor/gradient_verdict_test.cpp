// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/gradient_verdict.hpp>

#include <hyperparallel/dtensor/operations/elementwise.hpp>
#include <hyperparallel/dtensor/operations/reduction.hpp>

#include <gtest/gtest.h>

#include <cstdint>

#include "dtensor/small_world.hpp"

namespace {

using namespace small_world;

using rows = tensor<on<"dp", none>, 4, 8>;
using ids = hp::dtensor<std::int32_t, hp::extents<4>, on<"dp">>;
template <std::size_t... Wanted>
using of = std::index_sequence<Wanted...>;

struct square {
  template <class X, class... Rest>
  auto operator()(const X& x, const Rest&...) const {
    return sum(x * x);
  }
};
struct itself {
  template <class X>
  auto operator()(const X& x) const {
    return x;
  }
};
struct product {
  template <class X, class Y>
  auto operator()(const X& x, const Y& y) const {
    return sum(x * y);
  }
};
using number = hp::dtensor<double, hp::extents<>, on<>>;

static_assert(hp::differentiable<square, of<0>, rows> && hp::differentiable<product, of<1, 0>, rows, rows>);
static_assert(hp::differentiable<itself, of<0>, number>, "of an argument that is the value");
static_assert(!hp::differentiable<itself, of<0>, rows>, "a value with dims");
static_assert(!hp::differentiable<square, of<0, 1>, rows, rows>, "the second is not read");
static_assert(!hp::differentiable<square, of<1>, rows, rows>, "nothing that is named is read");
static_assert(!hp::differentiable<square, of<2>, rows, rows>, "there are two");
static_assert(!hp::differentiable<product, of<0>, ids, ids>, "numbers of rows");

/// x + bias, of an operator that hands the gradient of its result to operands as it is.
template <unsigned Passes>
struct shifted {
  static constexpr const char *name = "shifted", *text = "*h,h->*h";
  static constexpr unsigned passes_gradient = Passes;
  template <class T>
  static void run(hp::const_view<T> x, hp::const_view<T> bias, hp::tensor_view<T> y) {
    for (hp::extent_t i = 0; i < hp::volume(y); ++i) y.data[i] = x.data[i] + bias.data[i % hp::volume(bias)];
  }
};
template <class Operator>
struct applied {
  template <class X, class Y>
  auto operator()(const X& x, const Y& y) const {
    return sum(hp::apply<Operator>(x, y));
  }
};
using bias = tensor<on<none>, 8>;
static_assert(hp::differentiable<applied<hp::ops::add_bias>, of<0, 1>, rows, bias>);
static_assert(hp::differentiable<applied<shifted<0b01>>, of<0>, rows, bias>);
static_assert(!hp::differentiable<applied<shifted<0b11>>, of<0>, rows, bias>, "the bias has other dims");
static_assert(!hp::differentiable<applied<shifted<0b00>>, of<0>, rows, bias>, "no gradient at all");

// Nodes behind what they depend on, each once: x * x, its sum.
TEST(GradientVerdict, NodesStandBehindTheirOperands) {
  const auto x = hp::detail::argument_of<true, 0>(waves<rows>());
  const auto y = x * x;
  const auto z = sum(y + y);
  using nodes = hp::detail::listed_nodes<boost::mp11::mp_list<>,
                                         typename std::remove_const_t<decltype(z)>::source::node_type>::type;
  EXPECT_EQ(boost::mp11::mp_size<nodes>::value, 3U);
  using first = typename std::remove_const_t<decltype(y)>::source::node_type;
  static_assert(std::is_same_v<boost::mp11::mp_front<nodes>, first>);
}

}  // namespace
