// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/apply.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <tuple>
#include <type_traits>

#include <hyperparallel/dtensor/creation.hpp>
#include <hyperparallel/kernels/contraction.hpp>
#include <hyperparallel/operators/operator_rule.hpp>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
struct other_mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};

template <class Extents, class Layout>
using tensor = hp::dtensor<std::int64_t, Extents, Layout>;
using tokens = tensor<hp::extents<4, 8>, hp::layout<mesh, "dp", hp::none>>;
using wide = tensor<hp::extents<8, 16>, hp::layout<mesh, hp::none, "tp">>;
using tall = tensor<hp::extents<16, 8>, hp::layout<mesh, "tp", hp::none>>;

constexpr auto multiply = [](auto a, auto b, auto c) { hp::kernels::matmul(a, b, c); };

template <class A, class B>
auto product(const A& a, const B& b) {
  return hp::apply<hp::ops::matmul>(multiply, a, b);
}

// An operator of a user: rows' sums, and where in the whole the row came from.
struct row_sums {
  static constexpr hp::factor_rule rule = hp::rule_from("row_sums", "tE->t,t", {}).rule;
};

static_assert(hp::takes<hp::ops::matmul, tokens, wide>);
static_assert(!hp::takes<hp::ops::matmul, tokens, tall>);                                                // 8 is not 16
static_assert(!hp::takes<hp::ops::matmul, tokens, tensor<hp::extents<8>, hp::layout<mesh, hp::none>>>);  // rank
static_assert(!hp::takes<hp::ops::matmul, tokens, tensor<hp::extents<8, 4>, hp::layout<mesh, "tp", hp::none>>>);
static_assert(!hp::takes<hp::ops::matmul, tokens, tensor<hp::extents<8, 4>, hp::layout<other_mesh, hp::none, "tp">>>);

TEST(apply, results_carry_layout_and_extents_in_their_type) {
  const hp::rank_group ranks(4, {.threads = 2, .pin = false});
  const auto x = hp::arange<tokens>(ranks);
  const auto u = hp::arange<wide>(ranks);
  const auto v = hp::arange<tall>(ranks);
  const auto h = product(x, u);
  const auto y = product(h, v);
  static_assert(std::is_same_v<decltype(h), const tensor<hp::extents<4, 16>, hp::layout<mesh, "dp", "tp">>>);
  static_assert(std::is_same_v<decltype(y)::layout, hp::layout<mesh, "dp", hp::none, hp::partial("tp")>>);
  const auto a = x.full_tensor(), b = u.full_tensor(), c = y.full_tensor(), d = v.full_tensor();
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 8; ++j) {
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < 8; ++k)
        for (std::size_t l = 0; l < 16; ++l) sum += a[8 * i + k] * b[16 * k + l] * d[8 * l + j];
      EXPECT_EQ(c[8 * i + j], sum);
    }
}

TEST(apply, dynamic_extents_stay_dynamic_and_are_checked_when_it_runs) {
  const hp::rank_group ranks(4, {.threads = 1});
  using open = tensor<hp::extents<hp::dyn, hp::dyn>, hp::layout<mesh, "dp", hp::none>>;
  const auto u = hp::arange<wide>(ranks);
  const auto h = product(hp::ones<open>(ranks, hp::shape(6, 8)), u);
  static_assert(std::is_same_v<decltype(h)::extents, hp::extents<hp::dyn, 16>>);
  EXPECT_EQ(h.shape(), hp::shape(6, 16));
  EXPECT_THROW(product(hp::ones<open>(ranks, hp::shape(6, 4)), u), hp::operator_error);
}

TEST(apply, several_results_and_where_they_lie) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto x = hp::arange<tokens>(ranks);
  const auto [sums, numbers] = hp::apply<row_sums, std::int64_t, std::int32_t>(
      [](const hp::local_operation& at, auto in, auto sum, auto row) {
        for (hp::extent_t r = 0; r < sum.extents.extent[0]; ++r) {
          for (hp::extent_t c = 0; c < 8; ++c) sum.data[r] += in.data[8 * r + c];
          row.data[r] = static_cast<std::int32_t>(at.operand[0].place.dim[0].begin + r);
        }
      },
      x);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(numbers)>,
                               hp::dtensor<std::int32_t, hp::extents<4>, hp::layout<mesh, "dp">>>);
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(sums.full_tensor()[r], static_cast<std::int64_t>(64 * r + 28));
    EXPECT_EQ(numbers.full_tensor()[r], static_cast<std::int32_t>(r));
  }
}

}  // namespace
