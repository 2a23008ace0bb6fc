// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/operations/elementwise.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

#include <hyperparallel/dtensor/creation.hpp>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
using tiles = hp::layout<mesh, "dp", "tp">;
using rows = hp::layout<mesh, "dp", hp::none>;
using whole = hp::layout<mesh, hp::none, hp::none>;
using terms = hp::layout<mesh, hp::none, hp::none, hp::partial("tp")>;
template <class Layout, class T = float>
using matrix = hp::dtensor<T, hp::extents<4, 6>, Layout>;

class elementwise : public testing::Test {
 protected:
  hp::rank_group ranks{4, {.threads = 1}};
  matrix<tiles> x = hp::arange<matrix<tiles>>(ranks, 1);
  matrix<whole> y = hp::arange<matrix<whole>>(ranks, 2, 3);
};

TEST_F(elementwise, operators_slice_whole_operands) {
  const auto z = (x + y) * x / y - x;
  static_assert(std::is_same_v<decltype(z), const matrix<tiles>>);
  const auto a = x.full_tensor(), b = y.full_tensor(), c = z.full_tensor();
  for (std::size_t i = 0; i < c.size(); ++i) EXPECT_EQ(c[i], (a[i] + b[i]) * a[i] / b[i] - a[i]);
}

TEST_F(elementwise, rows_and_columns_broadcast) {
  const auto row = hp::arange<hp::dtensor<float, hp::extents<6>, hp::layout<mesh, "tp">>>(ranks);
  const auto column = hp::arange<hp::dtensor<float, hp::extents<4, 1>, rows>>(ranks);
  const auto z = x + row + column;
  static_assert(std::is_same_v<decltype(z), const matrix<tiles>>);
  const auto c = z.full_tensor();
  for (std::size_t i = 0; i < c.size(); ++i) EXPECT_EQ(c[i], static_cast<float>(1 + i + i % 6 + i / 6));
}

TEST_F(elementwise, dynamic_extents_are_those_of_the_other_operand) {
  using open = hp::dtensor<float, hp::extents<hp::dyn, 6>, rows>;
  const auto z = hp::ones<open>(ranks, hp::shape(4, 6)) + x;
  static_assert(std::is_same_v<decltype(z), const matrix<tiles>>);
  EXPECT_THROW(hp::ones<open>(ranks, hp::shape(8, 6)) + x, hp::operator_error);
}

TEST_F(elementwise, numbers_scale_and_shift) {
  const auto z = 2.0F * x + 1 - 3.0;
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(z.full_tensor()[i], 2.0F * x.full_tensor()[i] - 2.0F);
  EXPECT_EQ((-x).full_tensor()[3], -4.0F);
}

TEST_F(elementwise, partial_sums_scale_and_meet_whole_operands_by_a_fill) {
  const auto p = y.redistribute<terms>();
  const auto scaled = p * 2.0F;
  const auto filled = p + y;
  static_assert(std::is_same_v<decltype(scaled), const matrix<terms>>);
  static_assert(std::is_same_v<decltype(filled), const matrix<terms>>);
  static_assert(!hp::applies<hp::operations::shift<float>{}, matrix<terms>>);  // once in every term
  static_assert(!hp::applies<hp::elementwise<hp::ops::multiply>{}, matrix<terms>, matrix<terms>>);
  const auto v = y.full_tensor();
  for (std::size_t i = 0; i < 24; ++i) {
    EXPECT_EQ(scaled.full_tensor()[i], 2.0F * v[i]);
    EXPECT_EQ(filled.full_tensor()[i], 2.0F * v[i]);
  }
}

TEST_F(elementwise, comparisons_choose) {
  const auto larger = greater(x, y);
  static_assert(std::is_same_v<decltype(larger), const matrix<tiles, bool>>);
  const auto chosen = where(larger, x, y), most = maximum(x, y), none = masked_fill(x, logical_not(larger), 0);
  EXPECT_EQ(chosen.full_tensor(), most.full_tensor());
  for (std::size_t i = 0; i < 24; ++i)
    EXPECT_EQ(none.full_tensor()[i], larger.full_tensor()[i] ? x.full_tensor()[i] : 0.0F);
}

TEST_F(elementwise, functions_and_casts) {
  const auto e = exp(x), s = silu(x);
  const auto g = swiglu(x, y);
  const auto i = hp::cast<int>(x);
  static_assert(std::is_same_v<decltype(i), const matrix<tiles, int>>);
  for (std::size_t n = 0; n < 24; ++n) {
    EXPECT_EQ(e.full_tensor()[n], std::exp(x.full_tensor()[n]));
    EXPECT_EQ(g.full_tensor()[n], s.full_tensor()[n] * y.full_tensor()[n]);
    EXPECT_EQ(i.full_tensor()[n], static_cast<int>(n) + 1);
  }
  static_assert(!hp::applies<hp::elementwise<hp::ops::exp>{}, matrix<tiles, int>>);
}

}  // namespace
