// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/layout/layout_value.hpp>

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

TEST(layout_value, sub_axis_digits_reproduce_the_coordinate) {
  const hp::mesh_shape m{1, {24}};
  for (const auto& [pre, size] : {std::pair{1, 24}, {2, 3}, {4, 6}, {1, 2}, {8, 3}}) {
    const hp::cut middle{0, 0, pre, size};
    const int stride = hp::stride_of(m, middle);
    EXPECT_EQ(pre * size * stride, 24);
    for (int c = 0; c < 24; ++c)
      EXPECT_EQ(c / (size * stride) * (size * stride) + hp::digit_of(m, middle, c) * stride + c % stride, c);
  }
}

TEST(layout_value, cuts_of_size_one_are_absent_and_continuing_sub_axes_are_one_cut) {
  hp::layout_value l = hp::replicated({2, {8, 1}}, 2);
  hp::append_cut(l, {0, 1, 1, 1});
  EXPECT_EQ(l.cut_count, 0);
  hp::append_cut(l, {0, 0, 1, 2});
  hp::append_cut(l, {0, 0, 2, 4});
  ASSERT_EQ(l.cut_count, 1);
  EXPECT_TRUE((l.cut[0] == hp::cut{0, 0, 1, 8}));

  hp::layout_value swapped = hp::replicated({2, {8, 1}}, 2);
  hp::append_cut(swapped, {0, 0, 2, 4});
  hp::append_cut(swapped, {0, 0, 1, 2});
  EXPECT_EQ(swapped.cut_count, 2) << "inner part first is another order and stays two cuts";
}

TEST(layout_value, a_shape_is_accepted_iff_rank_fits_and_every_dim_divides) {
  for (const hp::mesh_shape& m : worlds::small_meshes())
    for (const hp::layout_value& l : worlds::all_layouts(m, 2))
      for (hp::extent_t a = 1; a <= 12; ++a)
        for (hp::extent_t b = 1; b <= 12; ++b) {
          const hp::layout_status s = hp::check_shape(l, hp::shape{a, b});
          const bool divides = a % hp::shards_of(l, 0) == 0 && b % hp::shards_of(l, 1) == 0;
          ASSERT_EQ(s.code == hp::layout_code::ok, divides);
          if (divides) continue;
          ASSERT_EQ(s.code, hp::layout_code::extent_is_not_divisible_by_its_shards);
          ASSERT_EQ(s.extent, s.dim == 0 ? a : b);
          ASSERT_EQ(s.shards, hp::shards_of(l, s.dim));
          ASSERT_NE(s.extent % s.shards, 0);
        }
}

TEST(layout_value, a_padded_dim_need_not_divide) {
  hp::layout_value l = hp::replicated({1, {4}}, 1);
  hp::append_cut(l, {0, 0, 1, 4});
  EXPECT_NE(hp::check_shape(l, hp::shape{10}).code, hp::layout_code::ok);
  l.padded = 1;
  EXPECT_EQ(hp::check_shape(l, hp::shape{10}).code, hp::layout_code::ok);
}

TEST(layout_value, refusals_of_rank_and_volume) {
  const hp::layout_value l = hp::replicated({1, {2}}, 2);
  EXPECT_EQ(hp::check_shape(l, hp::shape{4}).code, hp::layout_code::map_length_differs_from_tensor_rank);
  EXPECT_EQ(hp::check_shape(l, hp::shape{4}).extent, 1);
  EXPECT_EQ(hp::check_shape(l, hp::shape{4}).shards, 2);
  EXPECT_EQ(hp::check_shape(l, hp::shape{hp::extent_t{1} << 40, hp::extent_t{1} << 40}).code,
            hp::layout_code::element_count_overflows);
}

TEST(layout_value, canonical_layouts_that_place_alike_are_equal) {
  for (const hp::mesh_shape& m : worlds::small_meshes()) {
    const hp::shape s = worlds::divisible_shape(m, 2);
    const std::vector<hp::layout_value> all = worlds::all_layouts(m, 2);
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = 0; j < all.size(); ++j) {
        bool alike = true;
        for (int p = 0; p < hp::position_count(m); ++p)
          alike = alike && hp::slice_at(all[i], s, hp::coordinates_of(m, p)) ==
                               hp::slice_at(all[j], s, hp::coordinates_of(m, p));
        ASSERT_EQ(alike, i == j);
        ASSERT_EQ(all[i] == all[j], i == j);
      }
  }
}

}  // namespace
