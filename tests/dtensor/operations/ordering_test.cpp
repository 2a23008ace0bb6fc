// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/operations/ordering.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include <hyperparallel/dtensor/creation.hpp>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
using rows = hp::layout<mesh, "dp", hp::none>;
using matrix = hp::dtensor<int, hp::extents<2, 4>, rows>;

TEST(ordering, along_whole_dims) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto x = hp::generate<matrix>(ranks, [](hp::extent_t i) { return static_cast<int>(i * 5 % 7); });
  EXPECT_EQ(x.full_tensor(), (std::vector<int>{0, 5, 3, 1, 6, 4, 2, 0}));
  EXPECT_EQ(cumsum(x).full_tensor(), (std::vector<int>{0, 5, 8, 9, 6, 10, 12, 12}));
  EXPECT_EQ(cumprod(x).full_tensor(), (std::vector<int>{0, 0, 0, 0, 6, 24, 48, 0}));
  const auto [sorted, places] = sort(x);
  static_assert(
      std::is_same_v<std::remove_cvref_t<decltype(places)>, hp::dtensor<std::int64_t, hp::extents<2, 4>, rows>>);
  EXPECT_EQ(sorted.full_tensor(), (std::vector<int>{0, 1, 3, 5, 0, 2, 4, 6}));
  EXPECT_EQ(places.full_tensor(), (std::vector<std::int64_t>{0, 3, 2, 1, 3, 2, 1, 0}));
  EXPECT_EQ(argsort(x).full_tensor(), places.full_tensor());
  const auto [largest, where] = hp::topk<2>(x);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(largest)>, hp::dtensor<int, hp::extents<2, 2>, rows>>);
  EXPECT_EQ(largest.full_tensor(), (std::vector<int>{5, 3, 6, 4}));
  EXPECT_EQ(where.full_tensor(), (std::vector<std::int64_t>{1, 2, 0, 1}));
  static_assert(!hp::applies<hp::operations::cumsum{0}, matrix>);
}

}  // namespace
