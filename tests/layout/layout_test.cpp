// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/layout/layout.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace {

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"one", 1}, hp::axis{"cp", 2}, hp::axis{"tp", 4}> {};
struct other_mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"one", 1}, hp::axis{"cp", 2}, hp::axis{"tp", 4}> {};
struct shuffled : hp::on_ranks<hp::device_matrix<hp::axis{"x", 2}, hp::axis{"y", 2}>, 3, 1, 0, 2> {};

using x = hp::layout<mesh, "dp", hp::none, hp::axes("cp", "tp")>;

// One layout, one type, however it is spelled.
static_assert(std::is_same_v<x, hp::layout<mesh, "dp", "None", "cp,tp">>);
static_assert(std::is_same_v<x, hp::layout<mesh, hp::axes("dp"), "", hp::axes("cp", "None", "tp")>>);
static_assert(std::is_same_v<x, hp::layout<mesh, hp::axes("one", "dp"), "None,", hp::axes("cp", "tp")>>);
static_assert(std::is_same_v<x, hp::layout<mesh, "dp", hp::none, hp::axes("cp", "tp"), hp::partial("one")>>);
static_assert(std::is_same_v<hp::layout<mesh, "dp", hp::partial("tp")>, hp::layout<mesh, hp::partial("tp"), "dp">>);
static_assert(std::is_same_v<hp::layout<mesh, "dp", hp::partial("cp"), hp::partial("tp")>,
                             hp::layout<mesh, hp::partial("tp"), "dp", hp::partial("cp")>>);
// Different layouts, different types.
static_assert(!std::is_same_v<x, hp::layout<mesh, "dp", hp::none, hp::axes("tp", "cp")>>);
static_assert(!std::is_same_v<x, hp::layout<other_mesh, "dp", hp::none, hp::axes("cp", "tp")>>);

// Padding is part of the type where something shards the dim, and nothing where nothing does.
using uneven = hp::layout<mesh, hp::padded(hp::axes("dp", "tp")), "cp", hp::partial("one")>;
static_assert(hp::is_padded(uneven::value, 0) && !hp::is_padded(uneven::value, 1) && uneven::value.cut_count == 3);
static_assert(!std::is_same_v<uneven, hp::layout<mesh, hp::axes("dp", "tp"), "cp">>);
static_assert(std::is_same_v<uneven, hp::layout<mesh, "~dp,tp", "cp">>);
static_assert(
    std::is_same_v<hp::layout<mesh, hp::padded(hp::none), hp::padded("one")>, hp::layout<mesh, hp::none, hp::none>>);
static_assert(hp::layout<mesh, "dp", hp::padded("tp"), hp::partial("cp")>::value.padded == 0b10u);
static_assert(!hp::valid_layout<mesh, hp::padded("xp")> && !hp::valid_layout<mesh, hp::padded("tp"), "tp">);
static_assert(!std::is_same_v<hp::layout<mesh, "dp">, hp::layout<mesh, "dp", hp::none>>);
static_assert(!std::is_same_v<hp::layout<mesh, "dp", hp::partial("tp")>,
                              hp::layout<mesh, "dp", hp::partial("tp", hp::reduce_op::max)>>);
static_assert(hp::layout<mesh>::rank == 0 && hp::layout<mesh, "dp", hp::partial("tp")>::rank == 1);

static_assert(hp::slice<x>(hp::shape{8, 4096, 7168}, 5) == hp::box{{0, 4}, {0, 4096}, {4480, 5376}});

// The concept is silent where a map cannot be.
static_assert(hp::valid_layout<mesh, "dp", "tp"> && hp::layout_type<x> && !hp::layout_type<mesh>);
static_assert(!hp::valid_layout<mesh, "xp">);
static_assert(!hp::valid_layout<mesh, "dp", "dp">);
static_assert(!hp::valid_layout<mesh, "dp", hp::partial("dp")>);
static_assert(!hp::valid_layout<mesh, "dp", hp::partial("xp")>);
static_assert(!hp::valid_layout<mesh, hp::partial("dp"), hp::partial("dp")>);
static_assert(!hp::valid_layout<mesh, "dp", hp::partial("cp,tp")>);
static_assert(!hp::valid_layout<int, "dp">);

TEST(layout, the_value_of_a_type_is_that_of_its_map) {
  const char* entries[] = {"dp", "None", "cp,tp"};
  EXPECT_TRUE(x::value == hp::layout_from_map(mesh::value, entries, 3).layout);
}

TEST(layout, slices_go_by_rank_and_not_by_position) {
  using rows = hp::layout<shuffled, "x">;
  const int position_of_rank[] = {2, 1, 3, 0};
  for (int rank = 0; rank < 4; ++rank) {
    const hp::extent_t row = position_of_rank[rank] / 2;
    EXPECT_TRUE((hp::slice<rows>(hp::shape{2}, rank) == hp::box{{row, row + 1}}));
  }
}

TEST(layout, a_rank_outside_the_mesh_has_no_slice) {
  using rows = hp::layout<shuffled, "x">;
  for (const int rank : {-1, 4, 1 << 30}) {
    const hp::slice_result r = hp::slice<rows>(hp::shape{2}, rank);
    EXPECT_EQ(r.status, (hp::layout_status{hp::layout_code::rank_is_outside_the_mesh, 0, 0, 0, rank, 4}));
    EXPECT_FALSE(r == hp::box{});
  }
}

TEST(layout, of_a_type_that_is_no_device_matrix_nothing_is_valid) {
  EXPECT_FALSE((hp::valid_layout<int, "x">));
  EXPECT_FALSE((hp::valid_layout<hp::shape>));
}

}  // namespace
