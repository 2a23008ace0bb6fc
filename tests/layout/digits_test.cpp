// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/layout/digits.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/layout/slice.hpp>

#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

/// The box that the digits owned by one side's axes leave of `s` for the device at `c`.
hp::box box_by_digits(const hp::digit_table& t, const hp::shape& s, const hp::coordinate& c, bool target) {
  hp::box b;
  b.rank = s.rank;
  hp::extent_t length[hp::max_dims] = {};
  for (int d = 0; d < s.rank; ++d) length[d] = s.extent[d];
  for (int i = 0; i < t.count; ++i) {
    const hp::digit& x = t.digit[i];
    const int axis = target ? x.target_axis : x.source_axis, stride = target ? x.target_stride : x.source_stride;
    if (axis < 0) continue;
    b.dim[x.dim].begin += c.at[axis] / stride % x.size * x.inner;
    length[x.dim] = x.inner;
  }
  for (int d = 0; d < s.rank; ++d) b.dim[d].end = b.dim[d].begin + length[d];
  return b;
}

void expect_law(const hp::mesh_shape& m, int rank, const hp::shape& s, long& refined, long& refused) {
  for (const hp::layout_value& a : worlds::all_layouts(m, rank))
    for (const hp::layout_value& b : worlds::all_layouts(m, rank)) {
      const hp::digit_table t = hp::refine(a, b, s);
      ++(t.refinable ? refined : refused);
      if (!t.refinable) continue;
      for (int p = 0; p < hp::position_count(m); ++p) {
        const hp::coordinate c = hp::coordinates_of(m, p);
        ASSERT_TRUE(box_by_digits(t, s, c, false) == hp::slice_at(a, s, c));
        ASSERT_TRUE(box_by_digits(t, s, c, true) == hp::slice_at(b, s, c));
      }
    }
}

TEST(digits, their_values_reproduce_source_and_target_on_every_position) {
  long refined = 0, refused = 0;
  for (const hp::mesh_shape& m :
       {hp::mesh_shape{1, {2}}, hp::mesh_shape{2, {2, 2}}, hp::mesh_shape{3, {2, 2, 2}}, hp::mesh_shape{3, {4, 2, 2}}})
    for (int rank = 1; rank <= 2; ++rank) expect_law(m, rank, worlds::divisible_shape(m, rank), refined, refused);
  EXPECT_EQ(refused, 0) << "powers of two always refine";
  expect_law({2, {2, 3}}, 2, {6, 6}, refined, refused);
  EXPECT_GT(refused, 0) << "2 and 3 on one dim do not divide each other";
  EXPECT_GT(refined, 0);
}

TEST(digits, each_digit_is_exactly_one_of_four) {
  const hp::mesh_shape m{3, {2, 2, 2}};
  for (const hp::layout_value& a : worlds::all_layouts(m, 2))
    for (const hp::layout_value& b : worlds::all_layouts(m, 2)) {
      const hp::digit_table t = hp::refine(a, b, {8, 8});
      for (int i = 0; i < t.count; ++i) {
        const hp::digit& x = t.digit[i];
        ASSERT_EQ(hp::is_kept(x) + hp::detail::is_moved(x) + hp::is_gathered(x) + hp::is_sliced(x), 1);
      }
      ASSERT_EQ(a == b, [&t] {
        for (int i = 0; i < t.count; ++i)
          if (!hp::is_kept(t.digit[i])) return false;
        return true;
      }());
    }
}

TEST(digits, the_figures_are_what_the_digits_amount_to) {
  for (const hp::mesh_shape& m : {hp::mesh_shape{2, {2, 3}}, hp::mesh_shape{3, {4, 2, 2}}})
    for (const hp::layout_value& a : worlds::all_layouts(m, 2))
      for (const hp::layout_value& b : worlds::all_layouts(m, 2)) {
        const hp::digit_table t = hp::refine(a, b, worlds::divisible_shape(m, 2));
        if (!t.refinable) continue;
        bool moved = false, sliced = false;
        hp::extent_t gathered = 1;
        unsigned movers = 0;
        for (int i = 0; i < t.count; ++i) {
          const hp::digit& x = t.digit[i];
          moved |= hp::detail::is_moved(x);
          sliced |= hp::is_sliced(x);
          if (hp::is_gathered(x)) gathered *= x.size;
          if (!hp::detail::is_moved(x) || x.size != m.size[x.source_axis] || x.size != m.size[x.target_axis]) continue;
          movers |= 1u << x.target_axis;
          ASSERT_EQ(t.moved_from[x.target_axis], x.source_axis);
        }
        ASSERT_EQ(t.moved, moved);
        ASSERT_EQ(t.sliced, sliced);
        ASSERT_EQ(t.gathered, gathered);
        ASSERT_EQ(t.movers, movers);
      }
}

TEST(digits, a_padded_dim_that_does_not_divide_is_not_refinable) {
  hp::layout_value a = hp::replicated({1, {4}}, 1), b = a;
  hp::append_cut(a, {0, 0, 1, 4});
  a.padded = 1;
  EXPECT_FALSE(hp::refine(a, b, hp::shape{10}).refinable);
  EXPECT_TRUE(hp::refine(a, b, hp::shape{12}).refinable);
}

}  // namespace
