// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/cells.hpp>

#include <gtest/gtest.h>

#include <set>

#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

TEST(cells, members_of_a_group_hold_one_piece_and_are_all_that_do) {
  for (const hp::mesh_shape& m : worlds::small_meshes())
    for (const hp::layout_value& l : worlds::all_layouts(m, 2)) {
      const hp::shape s = worlds::divisible_shape(m, 2);
      const hp::detail::free_digits f = hp::detail::digits_beside(l);
      for (int p = 0; p < hp::position_count(m); ++p) {
        const hp::coordinate c = hp::coordinates_of(m, p);
        std::set<int> members, holders;
        for (int i = 0; i < f.members; ++i) {
          const hp::coordinate other = hp::detail::member_of(c, f, i);
          ASSERT_EQ(hp::detail::index_among(other, f), i);
          members.insert(hp::position_of(m, other));
        }
        for (int q = 0; q < hp::position_count(m); ++q)
          if (hp::slice_at(l, s, hp::coordinates_of(m, q)) == hp::slice_at(l, s, c)) holders.insert(q);
        ASSERT_EQ(members, holders);
        ASSERT_TRUE(hp::detail::member_of(c, f, hp::detail::index_among(c, f)) == c);
      }
    }
}

TEST(cells, parts_of_axes_may_be_free) {
  hp::layout_value l = hp::replicated({1, {12}}, 1);
  l.cut[l.cut_count++] = {0, 0, 2, 3};  // the middle of [2, 3, 2]
  const hp::detail::free_digits f = hp::detail::digits_beside(l);
  EXPECT_EQ(f.members, 4);
  std::set<int> members;
  for (int i = 0; i < 4; ++i) members.insert(hp::detail::member_of({{5}}, f, i).at[0]);
  EXPECT_EQ(members, (std::set<int>{4, 5, 10, 11})) << "5 is [0, 2, 1]";
  EXPECT_EQ(hp::detail::digits_beside(l, 1).members, 1) << "an axis that is left out has no free digits";
}

TEST(cells, parts_and_slabs_tile_a_box) {
  for (const hp::box& whole : {hp::box{{0, 7}, {2, 5}}, hp::box{{3, 4}, {0, 1}}, hp::box{{0, 1}, {4, 13}}, hp::box{}}) {
    for (int count = 1; count < 6; ++count) {
      hp::extent_t filled = 0, slabs = 0;
      const hp::extent_t n = hp::volume(whole);
      for (int i = 0; i < count; ++i) {
        const hp::box part = hp::detail::part_of(whole, i, count);
        filled += hp::volume(part);
        const hp::box slab = hp::detail::slab_of(whole, n * i / count, n * (i + 1) / count);
        slabs += hp::volume(slab);
        if (hp::volume(slab) > 0) {
          ASSERT_TRUE(hp::intersection(slab, whole) == slab);
        }
        for (int j = 0; j < i && whole.rank > 0; ++j) {
          ASSERT_EQ(hp::volume(hp::intersection(part, hp::detail::part_of(whole, j, count))), 0);
          const hp::box other = hp::detail::slab_of(whole, n * j / count, n * (j + 1) / count);
          ASSERT_EQ(hp::volume(hp::intersection(slab, other)), 0);
        }
      }
      ASSERT_EQ(filled, n);
      ASSERT_EQ(slabs, n);
    }
  }
}

TEST(cells, a_group_is_entered_with_the_last_axis_fastest) {
  const hp::mesh_shape m{3, {2, 3, 4}};
  hp::coordinate c{{1, 1, 1}};
  hp::detail::enter_group(c, m, 0b101, 6);
  EXPECT_TRUE((c == hp::coordinate{{1, 1, 2}}));
  EXPECT_TRUE(hp::detail::agree(c, {{0, 1, 2}}, 0b110));
  EXPECT_FALSE(hp::detail::agree(c, {{0, 1, 2}}, 0b111));
  EXPECT_TRUE(hp::detail::all_zero({{0, 5, 0}}, 0b101));
}

static_assert(hp::volume(hp::detail::part_of(hp::box{{0, 6}, {0, 4}}, 2, 3)) == 8);

}  // namespace
