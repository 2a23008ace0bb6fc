// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/operations/attention.hpp>

#include <gtest/gtest.h>

#include <type_traits>

#include <hyperparallel/dtensor/creation.hpp>
#include <hyperparallel/dtensor/listed_operation.hpp>

#include "support/error_of.hpp"

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
template <class Extents, class Layout>
using tensor = hp::dtensor<float, Extents, Layout>;

TEST(attention, queries_sharded_along_their_sequence_are_masked_by_their_place) {
  const hp::rank_group ranks(4, {.threads = 1});
  using extents = hp::extents<1, 4, 6, 8>;
  using keys = tensor<hp::extents<1, 2, 6, 8>, hp::layout<mesh, hp::none, "tp", hp::none, hp::none>>;
  const auto q = hp::randn<tensor<extents, hp::layout<mesh, hp::none, "tp", "dp", hp::none>>>(ranks, {.seed = 1});
  const auto k = hp::randn<keys>(ranks, {.seed = 2}), v = hp::randn<keys>(ranks, {.seed = 3});
  const auto y = hp::attention<true>(q, k, v);
  static_assert(std::is_same_v<decltype(y)::layout, hp::layout<mesh, hp::none, "tp", "dp", hp::none>>);
  using whole = hp::layout<mesh, hp::none, hp::none, hp::none, hp::none>;
  const auto one = hp::attention<true>(q.redistribute<whole>(), k.redistribute<whole>(), v.redistribute<whole>());
  EXPECT_EQ(y.full_tensor(), one.full_tensor());
  EXPECT_EQ(y.full_tensor()[0], v.full_tensor()[0]);  // the first query sees the first key alone
  static_assert(
      !hp::applies<hp::operations::attention{}, decltype(q),
                   tensor<hp::extents<1, 2, 6, 8>, hp::layout<mesh, hp::none, hp::none, "dp", hp::none>>, keys>);
}

TEST(attention, positions_sharded_along_their_dim_turn_by_their_place) {
  const hp::rank_group ranks(4, {.threads = 1});
  using extents = hp::extents<2, 6, 8>;
  const auto x = hp::randn<tensor<extents, hp::layout<mesh, "dp", "tp", hp::none>>>(ranks, {.seed = 1});
  const auto y = rope(x);
  static_assert(std::is_same_v<decltype(y)::layout, decltype(x)::layout>);
  const auto one = rope(x.redistribute<hp::layout<mesh, hp::none, hp::none, hp::none>>());
  EXPECT_EQ(y.full_tensor(), one.full_tensor());
  EXPECT_EQ(y.full_tensor()[3], x.full_tensor()[3]);  // position 0 does not turn
  EXPECT_NE(y.full_tensor()[8 * 5], x.full_tensor()[8 * 5]);
  EXPECT_EQ(y.full_tensor(), hp::apply<hp::ops::rope>({.real = {10000}}, x).full_tensor());  // that of models
}

// Pairs turn. The compiler refuses an odd extent that it knows, the run one that it does not.
TEST(attention, rope_refuses_an_odd_last_dim) {
  static_assert(!hp::applies<hp::operations::rope{},
                             tensor<hp::extents<2, 6, 7>, hp::layout<mesh, hp::none, hp::none, hp::none>>>);
  const hp::rank_group ranks(4, {.threads = 1});
  using dynamic = tensor<hp::extents<2, 6, hp::dyn>, hp::layout<mesh, "dp", "tp", hp::none>>;
  EXPECT_EQ(rope(hp::zeros<dynamic>(ranks, hp::shape(2, 6, 8))).full_tensor().size(), 2U * 6 * 8);
  EXPECT_EQ(tested::error_of<hp::rank_error>([&] { rope(hp::zeros<dynamic>(ranks, hp::shape(2, 6, 7))); }),
            "rope failed at position 0: rope: attributes_do_not_fit_operands: last_dim_is_no_multiple, 7");
}

}  // namespace
