// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/operations/convolution.hpp>

#include <gtest/gtest.h>

#include <type_traits>

#include <hyperparallel/dtensor/creation.hpp>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
template <class Extents, class Layout>
using tensor = hp::dtensor<float, Extents, Layout>;

TEST(convolution, one_over_sharded_channels_adds_its_bias_once) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto x = hp::ones<tensor<hp::extents<2, 4, 6>, hp::layout<mesh, "dp", "tp", hp::none>>>(ranks);
  const auto w = hp::ones<tensor<hp::extents<4, 4, 3>, hp::layout<mesh, hp::none, "tp", hp::none>>>(ranks);
  const auto b = hp::full<tensor<hp::extents<4>, hp::layout<mesh, hp::none>>>(ranks, 100);
  const auto y = hp::convolution(x, w, b);
  static_assert(std::is_same_v<decltype(y)::layout, hp::layout<mesh, "dp", hp::none, hp::none, hp::partial("tp")>>);
  static_assert(std::is_same_v<decltype(y)::extents, hp::extents<2, 4, 4>>);
  for (const float v : y.full_tensor()) EXPECT_EQ(v, 4 * 3 + 100);
}

}  // namespace
