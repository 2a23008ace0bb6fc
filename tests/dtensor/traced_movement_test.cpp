// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/traced_movement.hpp>

#include <hyperparallel/dtensor/gradient.hpp>
#include <hyperparallel/dtensor/operations/elementwise.hpp>
#include <hyperparallel/dtensor/operations/movement.hpp>
#include <hyperparallel/dtensor/operations/reduction.hpp>

#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "dtensor/traced_moves.hpp"

namespace {

using namespace small_world;
using namespace traced_moves;

TEST(TracedMovement, HasTheValuesOfDtensorsAndTheirGradients) {
  expect_all_move<rows>();
  expect_all_move<whole>();
}

// A dtensor joined with a variable is given no gradient.
TEST(TracedMovement, ConstantsMayBeJoined) {
  expect_moves<rows>([&](const auto& x) {
    using value = std::remove_cvref_t<decltype(hp::detail::value_of(x))>;
    return hp::concat<1>(waves<value>(3), x);
  });
}

// A gradient that comes sharded along the dim that was cut is reduced to the value's layout first.
TEST(TracedMovement, GradientsThatLieOtherwiseAreBrought) {
  const auto loss = [](const auto& x) {
    const auto part = hp::slice_dim<1, 1, 5>(x).template redistribute<on<none, "dp", none>>();
    return sum(part * part).reduce_partial();
  };
  const std::vector<double> d = hp::gradient(loss, waves<whole>(1)).full_tensor(), x = waves<whole>(1).full_tensor();
  for (std::size_t i = 0; i < d.size(); ++i) EXPECT_NEAR(d[i], i / 2 % 6 < 1 || i / 2 % 6 > 4 ? 0 : 2 * x[i], 1e-14);
  const auto direct = [](const auto& x2) {
    const auto part = hp::slice_dim<1, 1, 5>(x2).template redistribute_gradient<on<none, "dp", none>>();
    return sum(part * part);
  };
  EXPECT_EQ(hp::gradient(direct, waves<whole>(1)).full_tensor(), d);
}

using dynamic = hp::dtensor<double, hp::extents<hp::dyn(1), 6>, on<none, "tp">>;

TEST(TracedMovement, DynamicExtentsAreTransposed) {
  const dynamic x = hp::distribute<dynamic>(group(), hp::shape(3, 6), std::vector<double>(18, 0.5));
  const auto d = hp::gradient([](const auto& a) { return sum(transpose(a) * transpose(a)).reduce_partial(); }, x);
  EXPECT_EQ(d.full_tensor(), std::vector<double>(18, 1.0));
  const auto m = hp::gradient([](const auto& a) { return sum(mean<0>(a)).reduce_partial(); }, x);
  EXPECT_EQ(m.full_tensor(), std::vector<double>(18, 1.0 / 3));
}

}  // namespace
