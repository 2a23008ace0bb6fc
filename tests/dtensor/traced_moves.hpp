// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that move elements, held on variables of small tensors against dtensors, one device and slopes.

#include <gtest/gtest.h>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <vector>

#include <hyperparallel/dtensor/gradient.hpp>
#include <hyperparallel/dtensor/operations/elementwise.hpp>
#include <hyperparallel/dtensor/operations/movement.hpp>
#include <hyperparallel/dtensor/operations/reduction.hpp>

#include "dtensor/small_world.hpp"

namespace traced_moves {

using namespace small_world;

using rows = tensor<on<"dp", none, "tp">, 4, 6, 2>;
using whole = tensor<on<none, none, none>, 4, 6, 2>;
using pending = tensor<on<none, none, none, hp::partial("dp")>, 4, 6, 2>;

template <class Tensor>
auto traced(const Tensor& x) {
  return hp::detail::argument_of<true, 0>(x);
}

/// A sum of f's elements that no element enters alike.
template <class F>
struct loss_of {
  F f;
  template <class X>
  auto operator()(const X& x) const {
    const auto y = f(x).reduce_partial();
    return sum(y * y).reduce_partial();
  }
};

/// On one device, where it is the slope.
template <class F>
std::vector<double> gradient_on_one(const F& f, const whole& x) {
  const loss_of<F> loss{f};
  const std::vector<double> one = hp::gradient(loss, x).full_tensor();
  const auto value = [&](const whole& at) { return loss(traced(at)).value().full_tensor()[0]; };
  for (const std::size_t i : {0U, 7U, 23U, 46U}) EXPECT_NEAR(one[i], slope(value, x, i), 1e-7) << i;
  return one;
}

/// f of a variable is f of its value, in the same layout; the gradient of a function of it on several devices is that on
/// one.
template <class Tensor, class F>
void expect_moves(const F& f) {
  const auto with = f(traced(waves<Tensor>(1)));
  const auto without = f(waves<Tensor>(1));
  static_assert(
      std::is_same_v<typename std::remove_cvref_t<decltype(with)>::tensor, std::remove_cvref_t<decltype(without)>>);
  EXPECT_EQ(with.value().full_tensor(), without.full_tensor());
  const std::vector<double> many = hp::gradient(loss_of<F>{f}, waves<Tensor>(1)).full_tensor();
  const std::vector<double> one = gradient_on_one(f, waves<Tensor>(1).template redistribute<on<none, none, none>>());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(many[i], one[i], 1e-12) << i;
}

// Types of their own, whatever tensor they move: what they do on one device is compiled once.
constexpr std::tuple moves{[](const auto& x) { return hp::permute<2, 0, 1>(x); },
                           [](const auto& x) { return hp::permute<-1, 1, 0>(x); },
                           [](const auto& x) { return hp::transpose(x); },
                           [](const auto& x) { return hp::transpose<0, 1>(x); },
                           [](const auto& x) { return hp::reshape<4, 2, 3, 2>(x); },
                           [](const auto& x) { return hp::reshape<2, 2, -1, 2>(x); },
                           [](const auto& x) { return hp::flatten<0, 1>(x); },
                           [](const auto& x) { return hp::squeeze(hp::expand_dims<1>(x)); },
                           [](const auto& x) { return hp::slice_dim<1, 2, 5>(x); },
                           [](const auto& x) { return hp::slice_dim<-2, 0, -1, 3>(x); },
                           [](const auto& x) { return hp::slice_dim<0, 0, 4>(x); },
                           [](const auto& x) { return hp::concat<1>(x, x, hp::slice_dim<1, 1, 3>(x)); },
                           [](const auto& x) { return hp::concat<-2>(x); }};

template <class Tensor>
void expect_all_move() {
  std::apply([](const auto&... f) { (expect_moves<Tensor>(f), ...); }, moves);
}

}  // namespace traced_moves
