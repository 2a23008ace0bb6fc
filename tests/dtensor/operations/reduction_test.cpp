// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/operations/reduction.hpp>

#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include <hyperparallel/dtensor/creation.hpp>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
using tiles = hp::layout<mesh, "dp", "tp">;
using matrix = hp::dtensor<double, hp::extents<4, 6>, tiles>;

TEST(reduction, a_sharded_dim_leaves_a_partial_result) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto x = hp::arange<matrix>(ranks, 1);
  const auto total = hp::sum(x);
  const auto of_rows = hp::sum<-1>(x);
  const auto means = hp::mean<0>(x);
  static_assert(std::is_same_v<decltype(total)::layout, hp::layout<mesh, hp::partial("dp"), hp::partial("tp")>>);
  static_assert(std::is_same_v<decltype(of_rows)::layout, hp::layout<mesh, "dp", hp::partial("tp")>>);
  static_assert(std::is_same_v<decltype(means)::layout, hp::layout<mesh, "tp", hp::partial("dp", hp::reduce_op::avg)>>);
  EXPECT_EQ(total.full_tensor(), std::vector<double>{300});
  EXPECT_EQ(of_rows.full_tensor(), (std::vector<double>{21, 57, 93, 129}));
  EXPECT_EQ(means.full_tensor(), (std::vector<double>{10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(hp::max(x).full_tensor(), std::vector<double>{24});
  EXPECT_EQ((hp::min<0, 1>(x).full_tensor()), std::vector<double>{1});
  EXPECT_EQ(hp::prod<1>(hp::full<matrix>(ranks, 2)).full_tensor(), (std::vector<double>{64, 64, 64, 64}));
}

TEST(reduction, truth_values_and_places) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto x = hp::arange<matrix>(ranks);
  const auto every = hp::all<1>(x);
  const auto some = hp::any<1>(x);
  static_assert(std::is_same_v<decltype(every)::element, bool>);
  EXPECT_EQ(every.full_tensor(), (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(some.full_tensor(), (std::vector<bool>{true, true, true, true}));
  const auto rows = x.redistribute<hp::layout<mesh, "dp", hp::none>>();
  EXPECT_EQ(argmax(rows).full_tensor(), (std::vector<std::int64_t>{5, 5, 5, 5}));
  const auto [largest, places] = hp::max_with_index<-1>(rows);
  EXPECT_EQ(largest.full_tensor(), (std::vector<double>{5, 11, 17, 23}));
  EXPECT_EQ(places.full_tensor(), argmax(rows).full_tensor());
  static_assert(!hp::applies<hp::operations::argmax{}, matrix>);
  static_assert(!hp::applies<hp::operations::mean{}, hp::dtensor<int, hp::extents<4, 6>, tiles>>);  // not a float
}

}  // namespace
