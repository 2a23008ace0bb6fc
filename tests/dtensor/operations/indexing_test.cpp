// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/operations/indexing.hpp>

#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include <hyperparallel/dtensor/creation.hpp>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
template <class T, class Extents, class Layout>
using tensor = hp::dtensor<T, Extents, Layout>;
using whole = hp::layout<mesh, hp::none, hp::none>;

TEST(indexing, a_sharded_vocabulary_gives_a_partial_sum) {
  const hp::rank_group ranks(4, {.threads = 1});
  using ids_of = tensor<int, hp::extents<4>, hp::layout<mesh, "dp">>;
  const auto ids = hp::generate<ids_of>(ranks, [](hp::extent_t i) { return static_cast<int>(i * 3 % 8); });
  const auto table = hp::arange<tensor<float, hp::extents<8, 2>, hp::layout<mesh, "tp", hp::none>>>(ranks);
  const auto rows = embedding(ids, table);
  static_assert(std::is_same_v<decltype(rows)::layout, hp::layout<mesh, "dp", hp::none, hp::partial("tp")>>);
  EXPECT_EQ(rows.full_tensor(), (std::vector<float>{0, 1, 6, 7, 12, 13, 2, 3}));
}

TEST(indexing, reading) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto x = hp::arange<tensor<int, hp::extents<4, 3>, hp::layout<mesh, "dp", hp::none>>>(ranks);
  using index_of = tensor<long, hp::extents<4, 2>, hp::layout<mesh, "dp", hp::none>>;
  const auto index = hp::generate<index_of>(ranks, [](hp::extent_t i) { return 2 - i % 3; });
  EXPECT_EQ(hp::gather<1>(x, index).full_tensor(), (std::vector<int>{2, 1, 3, 5, 7, 6, 11, 10}));
  const auto two = hp::generate<tensor<int, hp::extents<2>, hp::layout<mesh, hp::none>>>(
      ranks, [](hp::extent_t i) { return static_cast<int>(2 - i); });
  EXPECT_EQ(hp::index_select<1>(x, two).full_tensor(), (std::vector<int>{2, 1, 5, 4, 8, 7, 11, 10}));
  EXPECT_EQ(hp::one_hot<3>(two).full_tensor(), (std::vector<bool>{false, false, true, false, true, false}));
  EXPECT_EQ(hp::isin(two, two).full_tensor(), (std::vector<bool>{true, true}));
  const auto pairs = hp::generate<tensor<int, hp::extents<2, 2>, whole>>(ranks, [](hp::extent_t i) {
    return static_cast<int>(i == 0 ? 3 : i % 2);  // (3, 1), (0, 1)
  });
  const auto y = x.redistribute<whole>();
  EXPECT_EQ(gather_nd(y, pairs).full_tensor(), (std::vector<int>{10, 1}));
}

TEST(indexing, writing) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto x = hp::zeros<tensor<int, hp::extents<2, 3>, hp::layout<mesh, "dp", hp::none>>>(ranks);
  const auto ones = hp::zeros<tensor<int, hp::extents<2, 4>, hp::layout<mesh, "dp", "tp">>>(ranks);
  const auto source = hp::arange<tensor<int, hp::extents<2, 4>, hp::layout<mesh, "dp", "tp">>>(ranks);
  const auto added = hp::scatter_add<1>(x, ones, source);  // the order of additions is of no account
  static_assert(std::is_same_v<decltype(added)::layout, hp::layout<mesh, "dp", hp::none, hp::partial("tp")>>);
  EXPECT_EQ(added.full_tensor(), (std::vector<int>{6, 0, 0, 22, 0, 0}));
  using rows = hp::layout<mesh, "dp", hp::none>;
  const auto last = hp::scatter<1>(x, ones.redistribute<rows>(), source.redistribute<rows>());
  EXPECT_EQ(last.full_tensor(), (std::vector<int>{3, 0, 0, 7, 0, 0}));
  const auto odd =
      hp::generate<tensor<bool, hp::extents<2, 3>, whole>>(ranks, [](hp::extent_t i) { return i % 2 == 1; });
  const auto numbers = hp::arange<tensor<int, hp::extents<2, 3>, whole>>(ranks, 7);
  EXPECT_EQ(masked_scatter(x.redistribute<whole>(), odd, numbers).full_tensor(), (std::vector<int>{0, 7, 0, 8, 0, 9}));
  const auto place = hp::full<tensor<int, hp::extents<1>, hp::layout<mesh, hp::none>>>(ranks, 1);
  const auto update = hp::arange<tensor<int, hp::extents<1, 3>, whole>>(ranks, 5);
  EXPECT_EQ(scatter_update(x.redistribute<whole>(), place, update).full_tensor(), (std::vector<int>{0, 0, 0, 5, 6, 7}));
}

}  // namespace
