// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/dtensor.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

#include <hyperparallel/dtensor/creation.hpp>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
struct listed : hp::on_ranks<hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}>, 7, 5, 4, 6> {};

using rows = hp::layout<mesh, "dp", hp::none>;
using tiles = hp::layout<mesh, "tp", "dp">;
using terms = hp::layout<mesh, hp::none, "dp", hp::partial("tp")>;
template <class Layout>
using tensor = hp::dtensor<std::int32_t, hp::extents<4, 6>, Layout>;

static_assert(hp::dtensor_type<tensor<rows>> && !hp::dtensor_type<rows>);
static_assert(hp::divides<hp::extents<4, 6>, rows> && !hp::divides<hp::extents<3, 6>, rows>);
static_assert(hp::divides<hp::extents<hp::dyn, 6>, rows>);  // at run time
static_assert(hp::divides<hp::extents<hp::dyn(4), 6>, rows> && !hp::divides<hp::extents<hp::dyn(3), 6>, rows>);
static_assert(hp::movable<hp::extents<4, 6>, rows, terms>);
static_assert(!hp::movable<hp::extents<4, 6>, rows, hp::layout<listed, "dp", hp::none>>);
static_assert(!hp::movable<hp::extents<4, 3>, rows, tiles>);

TEST(dtensor, moves_between_layouts_and_keeps_its_values) {
  const hp::rank_group ranks(4, {.threads = 2, .pin = false});
  const auto x = hp::arange<tensor<rows>>(ranks);
  const auto y = x.redistribute<tiles>();
  const auto z = y.redistribute<terms>();
  const auto w = z.reduce_partial();
  static_assert(std::is_same_v<decltype(y), const tensor<tiles>>);
  static_assert(std::is_same_v<decltype(w)::layout, hp::layout<mesh, hp::none, "dp">>);
  const std::vector<std::int32_t> v = x.full_tensor();
  for (std::int32_t i = 0; i < 24; ++i) EXPECT_EQ(v[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(y.full_tensor(), v);
  EXPECT_EQ(z.full_tensor(), v);
  EXPECT_EQ(w.full_tensor(), v);
  EXPECT_EQ(x.redistribute<rows>().to_local(3).data(), x.to_local(3).data());  // equal layouts: the same shards
}

TEST(dtensor, tells_what_a_rank_holds) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto x = hp::arange<tensor<tiles>>(ranks);
  EXPECT_EQ(x.shape(), hp::shape(4, 6));
  EXPECT_EQ(x.local_shape(1), hp::shape(2, 3));
  EXPECT_EQ(x.local_box(1), (hp::box{{2, 4}, {0, 3}}));
  EXPECT_EQ(x.to_local(1)[4], 19);
  EXPECT_THROW(x.to_local(4), hp::dtensor_error);
}

TEST(dtensor, ranks_are_those_of_the_mesh_s_list) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto x = hp::arange<tensor<hp::layout<listed, "tp", "dp">>>(ranks);
  EXPECT_EQ(x.local_box(5), (hp::box{{2, 4}, {0, 3}}));  // rank 5 stands at position 1
  EXPECT_EQ(x.to_local(5)[4], 19);
  EXPECT_THROW(x.to_local(0), hp::dtensor_error);
}

TEST(dtensor, dynamic_extents_are_checked_when_a_tensor_is_made) {
  const hp::rank_group ranks(4, {.threads = 1});
  using batch = hp::dtensor<float, hp::extents<hp::dyn, hp::dyn(2)>, rows>;
  const auto x = hp::ones<batch>(ranks, hp::shape(6, 4));
  EXPECT_EQ(x.local_shape(0), hp::shape(3, 4));
  EXPECT_EQ((x.redistribute<hp::layout<mesh, hp::none, "tp">>().local_shape(0)), hp::shape(6, 2));
  EXPECT_THROW(hp::ones<batch>(ranks, hp::shape(3, 4)), hp::layout_error);   // not by dp
  EXPECT_THROW(hp::ones<batch>(ranks, hp::shape(4, 3)), hp::dtensor_error);  // no multiple of 2
  using halves = hp::layout<mesh, hp::axes("dp", "tp"), hp::none>;
  EXPECT_THROW(x.redistribute<halves>(), hp::move_error);  // 6 rows over 4
}

TEST(dtensor, is_a_face_of_its_twin) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto x = hp::arange<tensor<rows>>(ranks);
  const tensor<rows> again(x.dynamic());
  EXPECT_EQ(again.to_local(2).data(), x.to_local(2).data());
  EXPECT_THROW(tensor<tiles>(x.dynamic()), hp::dtensor_error);
  EXPECT_THROW((hp::dtensor<float, hp::extents<4, 6>, rows>(x.dynamic())), hp::dtensor_error);
  EXPECT_THROW((hp::dtensor<std::int32_t, hp::extents<4, 8>, rows>(x.dynamic())), hp::dtensor_error);
}

}  // namespace
