// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/mesh/coordinates.hpp>

#include <gtest/gtest.h>

#include <limits>

#include <set>
#include <vector>

namespace {

namespace hp = hyperparallel;

const hp::mesh_shape meshes[] = {{0, {}},        {1, {5}},       {2, {2, 3}},
                                 {3, {2, 1, 4}}, {3, {3, 2, 2}}, {8, {2, 1, 2, 1, 2, 3, 1, 2}}};

constexpr bool positions_round_trip(const hp::mesh_shape& m) {
  for (int p = 0; p < hp::position_count(m); ++p)
    if (hp::position_of(m, hp::coordinates_of(m, p)) != p) return false;
  return true;
}
static_assert(positions_round_trip({3, {2, 3, 4}}));

TEST(coordinates, positions_round_trip_and_coordinates_stay_inside) {
  for (const hp::mesh_shape& m : meshes) {
    EXPECT_TRUE(positions_round_trip(m));
    for (int p = 0; p < hp::position_count(m); ++p) {
      const hp::coordinate c = hp::coordinates_of(m, p);
      for (int a = 0; a < m.axis_count; ++a) {
        EXPECT_GE(c.at[a], 0);
        EXPECT_LT(c.at[a], m.size[a]);
      }
    }
  }
}

TEST(coordinates, the_last_axis_runs_fastest) {
  const hp::mesh_shape m{2, {2, 3}};
  for (int p = 0; p < 6; ++p) {
    EXPECT_EQ(hp::coordinates_of(m, p).at[0], p / 3);
    EXPECT_EQ(hp::coordinates_of(m, p).at[1], p % 3);
  }
}

TEST(rank_list, ranks_and_positions_are_inverse) {
  const int listed[] = {3, 1, 0, 2};
  for (const hp::rank_list& list : {hp::rank_list{4, listed}, hp::rank_list{4, 16}, hp::all_ranks({2, {2, 2}})}) {
    EXPECT_EQ(hp::check_rank_list({2, {2, 2}}, list).code, hp::rank_list_code::ok);
    std::set<int> seen;
    for (int p = 0; p < list.count; ++p) {
      EXPECT_EQ(hp::position_in(list, hp::rank_at(list, p)), p);
      seen.insert(hp::rank_at(list, p));
    }
    EXPECT_EQ(static_cast<int>(seen.size()), list.count);
    EXPECT_EQ(hp::position_in(list, 99), -1);
    EXPECT_EQ(hp::position_in(list, -1), -1);
  }
}

TEST(rank_list, refusals_name_the_position) {
  const hp::mesh_shape m{2, {2, 2}};
  const int twice[] = {0, 1, 1, 3}, negative[] = {0, 1, 2, -3};
  EXPECT_EQ(hp::check_rank_list(m, {3, 0}).code, hp::rank_list_code::length_differs_from_device_count);
  EXPECT_EQ(hp::check_rank_list(m, {4, twice}).code, hp::rank_list_code::rank_is_listed_twice);
  EXPECT_EQ(hp::check_rank_list(m, {4, twice}).position, 2);
  EXPECT_EQ(hp::check_rank_list(m, {4, negative}).code, hp::rank_list_code::rank_is_negative);
  EXPECT_EQ(hp::check_rank_list(m, {4, negative}).position, 3);
}

struct plain : hp::device_matrix<hp::axis{"x", 2}, hp::axis{"y", 2}> {};
struct shuffled : hp::on_ranks<plain, 3, 1, 0, 2> {};
static_assert(hp::rank_at(hp::ranks_of<plain>(), 2) == 2);
static_assert(hp::rank_at(hp::ranks_of<shuffled>(), 0) == 3 && hp::position_in(hp::ranks_of<shuffled>(), 2) == 3);

TEST(rank_list, a_mesh_type_carries_its_own) {
  EXPECT_EQ(hp::position_in(hp::ranks_of<shuffled>(), 3), 0);
  EXPECT_TRUE(shuffled::value == plain::value);
}

TEST(coordinates, ranks_that_no_int_can_count_are_refused) {
  using enum hp::rank_list_code;
  const hp::mesh_shape m{1, {4}};
  const int most = std::numeric_limits<int>::max();
  EXPECT_EQ(hp::check_rank_list(m, {4, most - 4}).code, ok);
  EXPECT_EQ(hp::check_rank_list(m, {4, most - 3}).code, rank_is_too_large);
  EXPECT_EQ(hp::check_rank_list(m, {4, most - 3}).position, 3);
  EXPECT_EQ(hp::check_rank_list(m, {4, most}).position, 0);
  EXPECT_EQ(hp::check_rank_list(m, {4, -1}).code, rank_is_negative);
  EXPECT_EQ(hp::check_rank_list(m, {4, std::numeric_limits<int>::min()}).code, rank_is_negative);
  const int listed[] = {0, 1, 2, most};
  EXPECT_EQ(hp::check_rank_list(m, {4, listed}).code, rank_is_too_large);
  EXPECT_EQ(hp::check_rank_list(m, {4, listed}).position, 3);
  EXPECT_EQ(hp::check_rank_list(m, {-4, 0}).code, length_differs_from_device_count);
  EXPECT_EQ(hp::check_rank_list(m, {}).code, length_differs_from_device_count);
  EXPECT_EQ(hp::check_rank_list({2, {1 << 16, 1 << 16}}, {0, 0}).code, mesh_is_not_valid) << "2^32 devices are not 0";
  EXPECT_EQ(hp::check_rank_list({1, {1 << 30}}, {1 << 30, 7}).code, ok) << "a range is looked at as one";
  for (const int rank : {0, 6, most, std::numeric_limits<int>::min()}) {
    EXPECT_EQ(hp::position_in({4, most - 1}, rank), rank == most ? 1 : -1);
    EXPECT_EQ(hp::position_in({4, std::numeric_limits<int>::min()}, rank), rank < 0 ? 0 : -1);
  }
}

}  // namespace
