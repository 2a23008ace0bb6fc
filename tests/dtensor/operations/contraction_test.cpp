// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/operations/contraction.hpp>

#include <gtest/gtest.h>

#include <type_traits>

#include <hyperparallel/dtensor/creation.hpp>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
template <class Extents, class Layout>
using tensor = hp::dtensor<long, Extents, Layout>;

TEST(contraction, layouts_stand_in_the_result_and_transposition_is_a_matter_of_storage) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto a = hp::arange<tensor<hp::extents<4, 8>, hp::layout<mesh, "dp", "tp">>>(ranks);
  const auto b = hp::arange<tensor<hp::extents<8, 6>, hp::layout<mesh, "tp", hp::none>>>(ranks);
  const auto bt = hp::generate<tensor<hp::extents<6, 8>, hp::layout<mesh, hp::none, "tp">>>(
      ranks, [](hp::extent_t i) { return i % 8 * 6 + i / 8; });
  const auto c = matmul(a, b);
  static_assert(std::is_same_v<decltype(c)::layout, hp::layout<mesh, "dp", hp::none, hp::partial("tp")>>);
  EXPECT_EQ((hp::matmul<false, true>(a, bt).full_tensor()), c.full_tensor());
  EXPECT_EQ(linear(a, bt).full_tensor(), c.full_tensor());
  EXPECT_EQ(c.full_tensor()[0], 0 * 0 + 1 * 6 + 2 * 12 + 3 * 18 + 4 * 24 + 5 * 30 + 6 * 36 + 7 * 42);
}

TEST(contraction, a_bias_is_added_once_beside_a_partial_sum) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto x = hp::ones<tensor<hp::extents<4, 8>, hp::layout<mesh, "dp", "tp">>>(ranks);
  const auto w = hp::ones<tensor<hp::extents<6, 8>, hp::layout<mesh, hp::none, "tp">>>(ranks);
  const auto bias = hp::full<tensor<hp::extents<6>, hp::layout<mesh, hp::none>>>(ranks, 5);
  for (const long v : linear(x, w, bias).full_tensor()) EXPECT_EQ(v, 8 + 5);
}

TEST(contraction, batches_broadcast_and_vectors_have_one_dim) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto x = hp::ones<tensor<hp::extents<2, 4, 8>, hp::layout<mesh, "dp", hp::none, hp::none>>>(ranks);
  const auto y = hp::ones<tensor<hp::extents<1, 8, 6>, hp::layout<mesh, hp::none, hp::none, "tp">>>(ranks);
  const auto z = matmul(x, y);
  static_assert(
      std::is_same_v<decltype(z), const tensor<hp::extents<2, 4, 6>, hp::layout<mesh, "dp", hp::none, "tp">>>);
  for (const long v : z.full_tensor()) EXPECT_EQ(v, 8);
  const auto v = hp::ones<tensor<hp::extents<8>, hp::layout<mesh, hp::none>>>(ranks);
  static_assert(std::is_same_v<decltype(matmul(x, v))::extents, hp::extents<2, 4>>);
  EXPECT_EQ(matmul(v, v).full_tensor(), std::vector<long>{8});
}

}  // namespace
