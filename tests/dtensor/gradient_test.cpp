// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/gradient.hpp>

#include <hyperparallel/dtensor/operations/contraction.hpp>
#include <hyperparallel/dtensor/operations/elementwise.hpp>
#include <hyperparallel/dtensor/operations/indexing.hpp>
#include <hyperparallel/dtensor/operations/normalization.hpp>
#include <hyperparallel/dtensor/operations/reduction.hpp>

#include <gtest/gtest.h>

#include "dtensor/small_world.hpp"

namespace {

using namespace small_world;
namespace ops = hp::ops;

using rows = tensor<on<"dp", none>, 4, 8>;
using columns = tensor<on<none, "tp">, 8, 8>;

TEST(Gradient, PendingSumsStandInTheTypes) {
  const auto program = [](const auto& w, const auto& x) { return sum(matmul(x, w)); };
  const auto [value, gradients] = hp::value_and_gradient<0, 1>(program, waves<columns>(1), waves<rows>(2));
  const auto& [dw, dx] = gradients;
  static_assert(std::is_same_v<layout_of<decltype(value)>, on<hp::partial("dp"), hp::partial("tp")>>);
  static_assert(std::is_same_v<layout_of<decltype(dw)>, on<none, "tp", hp::partial("dp")>>);
  static_assert(std::is_same_v<layout_of<decltype(dx)>, on<"dp", none, hp::partial("tp")>>);
  // d sum(x w) / d w = the sums of x over its rows, in every column.
  const std::vector<double> x = waves<rows>(2).full_tensor(), d = dw.full_tensor();
  for (std::size_t k = 0; k < 8; ++k)
    for (std::size_t n = 0; n < 8; ++n) EXPECT_NEAR(d[k * 8 + n], x[k] + x[8 + k] + x[16 + k] + x[24 + k], 1e-14);
}

TEST(Gradient, OfTheFirstArgumentUnlessOthersAreNamed) {
  const auto program = [](const auto& a, const auto& b) { return sum(a * b); };
  const auto da = hp::gradient(program, waves<rows>(1), waves<rows>(2));
  EXPECT_EQ(da.full_tensor(), waves<rows>(2).full_tensor());
  const auto db = hp::gradient<1>(program, waves<rows>(1), waves<rows>(2));
  EXPECT_EQ(db.full_tensor(), waves<rows>(1).full_tensor());
  const auto [d1, d0] = hp::gradient<1, 0>(program, waves<rows>(1), waves<rows>(2));
  EXPECT_EQ(d1.full_tensor(), db.full_tensor());
  EXPECT_EQ(d0.full_tensor(), da.full_tensor());
}

// A parameter that is gathered for its use gets its gradient scattered: fully sharded data parallelism.
TEST(Gradient, RedistributionsComeBackReduced) {
  using sharded = tensor<on<"dp", "tp">, 8, 8>;
  const auto program = [](const auto& w, const auto& x) {
    const auto y = matmul(x, w.template redistribute<on<none, "tp">>()).template redistribute<on<"dp", none>>();
    return sum(y * y);
  };
  const auto [value, gradients] = hp::value_and_gradient(program, waves<sharded>(1), waves<rows>(2));
  const auto& dw = std::get<0>(gradients);
  static_assert(std::is_same_v<layout_of<decltype(dw)>, on<"dp", "tp">>);
  const auto of_w = [&](const sharded& w) {
    return hp::value_and_gradient(program, w, waves<rows>(2)).value.full_tensor()[0];
  };
  for (const std::size_t i : {0U, 13U, 63U}) EXPECT_NEAR(dw.full_tensor()[i], slope(of_w, waves<sharded>(1), i), 1e-6);
}

TEST(Gradient, TheReductionPointCanBeChosen) {
  const auto with = [](auto choose) {
    return hp::gradient(
        [choose](const auto& x, const auto& w) {
          const auto y = matmul(choose(x), w);  // dx is a pending sum over tp
          return sum(y * y);
        },
        waves<rows>(1), waves<columns>(2));
  };
  const auto late = with([](const auto& x) { return x; });
  const auto early = with([](const auto& x) { return x.template redistribute_gradient<on<"dp", "tp">>(); });
  static_assert(std::is_same_v<layout_of<decltype(late)>, on<"dp", none, hp::partial("tp")>>);
  static_assert(std::is_same_v<layout_of<decltype(early)>, on<"dp", "tp">>);
  EXPECT_EQ(late.full_tensor(), early.full_tensor());
}

// Contributions that lie alike are summed as they are, others where the value lies.
TEST(Gradient, SeveralUsesAreSummed) {
  const auto alike = hp::gradient([](const auto& x, const auto& w) { return sum(matmul(x, w)) + sum(matmul(x, w)); },
                                  waves<rows>(1), waves<columns>(2));
  static_assert(std::is_same_v<layout_of<decltype(alike)>, on<"dp", none, hp::partial("tp")>>);
  const auto once =
      hp::gradient([](const auto& x, const auto& w) { return sum(matmul(x, w)); }, waves<rows>(1), waves<columns>(2));
  const std::vector<double> a = alike.full_tensor(), b = once.full_tensor();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], 2 * b[i], 1e-14);

  const auto mixed = hp::gradient(
      [](const auto& x, const auto& w) { return sum(matmul(x, w)).reduce_partial() + sum(x * x).reduce_partial(); },
      waves<rows>(1), waves<columns>(2));
  static_assert(std::is_same_v<layout_of<decltype(mixed)>, on<"dp", none>>);
  const std::vector<double> c = mixed.full_tensor(), x = waves<rows>(1).full_tensor();
  for (std::size_t i = 0; i < c.size(); ++i) EXPECT_NEAR(c[i], b[i] + 2 * x[i], 1e-14);
}

// Two steps of one type, which only their attributes tell apart, are two steps.
// The gradient of a sum goes to x as it is, that of a bias is summed over the dims that the bias lacks.
TEST(Gradient, OfABias) {
  using bias_of = tensor<on<none>, 8>;
  const auto program = [](const auto& b, const auto& x) {
    const auto y = hp::apply<ops::add_bias>(x, b);
    return sum(y * y);
  };
  const auto [value, gradients] = hp::value_and_gradient<0, 1>(program, waves<bias_of>(1), waves<rows>(2));
  const auto& [db, dx] = gradients;
  static_assert(std::is_same_v<layout_of<decltype(db)>, on<none, hp::partial("dp")>>);
  static_assert(std::is_same_v<layout_of<decltype(dx)>, layout_of<rows>>);
  const std::vector<double> b = waves<bias_of>(1).full_tensor(), x = waves<rows>(2).full_tensor();
  for (std::size_t h = 0; h < 8; ++h) {
    double of_column = 0;
    for (std::size_t row = 0; row < 4; ++row) {
      EXPECT_NEAR(dx.full_tensor()[8 * row + h], 2 * (x[8 * row + h] + b[h]), 1e-14);
      of_column += 2 * (x[8 * row + h] + b[h]);
    }
    EXPECT_NEAR(db.full_tensor()[h], of_column, 1e-13);
  }
}

TEST(Gradient, StepsOfOneTypeAreToldApart) {
  const auto by = [](const auto& x, double factor) { return scale(x, factor); };
  const auto d = hp::gradient([&](const auto& x) { return sum(by(x, 2.0) * by(x, 3.0)); }, waves<rows>(1));
  const std::vector<double> x = waves<rows>(1).full_tensor(), got = d.full_tensor();
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(got[i], 12 * x[i], 1e-14);
}

TEST(Gradient, MoreThanEightUsesAreChained) {
  const auto d = hp::gradient(
      [](const auto& x) {
        return sum(x * 1.0 + x * 2.0 + (x * 3.0 + x * 4.0) + (x * 5.0 + x * 6.0) + (x * 7.0 + x * 8.0) +
                   (x * 9.0 + x * 10.0) + x * 11.0);
      },
      waves<rows>(1));
  for (const double value : d.full_tensor()) EXPECT_EQ(value, 66.0);
}

// What only the saved results tell, and an operator whose gradient has several parts.
TEST(Gradient, OfAttention) {
  using head = tensor<on<"dp", none, "tp", none, none>, 2, 4, 2, 1, 3>;
  using keys = tensor<on<"dp", none, "tp", none>, 2, 4, 2, 3>;
  using whole_head = tensor<on<none, none, none, none, none>, 2, 4, 2, 1, 3>;
  using whole_keys = tensor<on<none, none, none, none>, 2, 4, 2, 3>;
  const auto program = [](const auto& q, const auto& k, const auto& v) {
    const auto [y, statistics] = hp::apply<ops::attention>({.integer = {1}, .real = {0.5}}, q, k, v);
    return sum(y * y);
  };
  const auto [dq, dk, dv] = hp::gradient<0, 1, 2>(program, waves<head>(1), waves<keys>(2), waves<keys>(3));
  static_assert(std::is_same_v<layout_of<decltype(dq)>, head::layout>);
  const auto [wq, wk, wv] =
      hp::gradient<0, 1, 2>(program, waves<whole_head>(1), waves<whole_keys>(2), waves<whole_keys>(3));
  EXPECT_EQ(dq.full_tensor(), wq.full_tensor());
  EXPECT_EQ(dk.full_tensor(), wk.full_tensor());
  EXPECT_EQ(dv.full_tensor(), wv.full_tensor());
  const auto of_k = [&](const whole_keys& k) {
    return hp::value_and_gradient<1>(program, waves<whole_head>(1), k, waves<whole_keys>(3)).value.full_tensor()[0];
  };
  for (const std::size_t i : {0U, 17U, 47U})
    EXPECT_NEAR(wk.full_tensor()[i], slope(of_k, waves<whole_keys>(2), i), 1e-7);
}

// Extents that run time knows: what a sum or a table's rows ran over comes back as it was.
TEST(Gradient, OfDynamicExtentsIsThatOfStaticOnes) {
  using many = tensor<on<"dp", none>, 4, 6>;
  using some = tensor<on<"dp", none>, hp::dyn(2), 6>;
  using any = tensor<on<none, none>, hp::dyn, hp::dyn>;
  const auto loss = [](const auto& x, const auto& w) {
    const auto y = rms_norm(silu(matmul(x, w)), waves<tensor<on<none>, 8>>(3));
    return mean(y * y) + sum(x);
  };
  const auto numbers = waves<many>().full_tensor(), more = waves<tensor<on<none, none>, 6, 8>>(1).full_tensor();
  const auto expected = hp::gradient<0, 1>(loss, waves<many>(), waves<tensor<on<none, none>, 6, 8>>(1));
  const auto x = hp::distribute<some>(group(), hp::shape(4, 6), numbers);
  const auto w = hp::distribute<any>(group(), hp::shape(6, 8), more);
  using program = decltype(loss);
  static_assert(hp::differentiable<program, std::index_sequence<0, 1>, some, any>);
  const auto got = hp::gradient<0, 1>(loss, x, w);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(std::get<0>(got))>, some>);
  EXPECT_EQ(std::get<0>(got).full_tensor(), std::get<0>(expected).full_tensor());
  EXPECT_EQ(std::get<1>(got).full_tensor(), std::get<1>(expected).full_tensor());
  EXPECT_EQ(std::get<1>(got).shape(), hp::shape(6, 8));

  const auto id = hp::generate<hp::dtensor<std::int32_t, hp::extents<8>, on<"dp">>>(
      group(), [](hp::extent_t i) { return static_cast<std::int32_t>(i % 3); });
  const auto rows_of = [&](const auto& table) { return sum(embedding(id, table)); };
  const auto d_table = hp::gradient(rows_of, w);
  EXPECT_EQ(d_table.shape(), hp::shape(6, 8));
  EXPECT_EQ(d_table.full_tensor(), hp::gradient(rows_of, waves<tensor<on<none, none>, 6, 8>>(1)).full_tensor());
}

}  // namespace
