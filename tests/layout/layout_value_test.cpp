// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/layout/layout_value.hpp>

#include <gtest/gtest.h>

#include <limits>

#include <utility>
#include <vector>

#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

TEST(layout_value, sub_axis_digits_reproduce_the_coordinate) {
  const hp::mesh_shape m{1, {24}};
  for (const auto& [pre, size] : {std::pair{1, 24}, {2, 3}, {4, 6}, {1, 2}, {8, 3}}) {
    const hp::cut middle{0, 0, pre, size};
    const int stride = hp::detail::stride_of(m, middle);
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

/// A layout of two dims on a mesh of 12 and 4, cut by `first` and `second`.
hp::layout_value cut_twice(hp::cut first, hp::cut second) {
  hp::layout_value l = hp::replicated({2, {12, 4}}, 2);
  l.cut[l.cut_count++] = first;
  l.cut[l.cut_count++] = second;
  return l;
}

TEST(layout_value, what_is_no_layout_is_refused_by_name) {
  using enum hp::layout_code;
  const hp::cut low{1, 0, 4, 3}, other{1, 1, 1, 4};
  EXPECT_EQ(hp::check_layout(cut_twice({0, 0, 1, 4}, low)), hp::layout_status{});
  EXPECT_EQ(hp::check_layout(cut_twice({0, 0, 2, 2}, low)), hp::layout_status{});
  EXPECT_EQ(hp::check_layout(cut_twice({0, 0, 1, 3}, low)), (hp::layout_status{sub_axes_do_not_nest, 1, 0, 0, 0, 0}));
  EXPECT_EQ(hp::check_layout(cut_twice({0, 0, 1, 12}, low)), (hp::layout_status{axis_is_used_twice, 1, 0, 0, 0, 0}));
  EXPECT_EQ(hp::check_layout(cut_twice({0, 0, 1, 5}, other)).code, sub_axis_does_not_fit_its_axis);
  EXPECT_EQ(hp::check_layout(cut_twice({0, 0, 5, 2}, other)).code, sub_axis_does_not_fit_its_axis);
  EXPECT_EQ(hp::check_layout(cut_twice({0, 0, 0, 2}, other)).code, sub_axis_does_not_fit_its_axis);
  EXPECT_EQ(hp::check_layout(cut_twice({0, 0, 4, -3}, other)).code, sub_axis_does_not_fit_its_axis);
  EXPECT_EQ(hp::check_layout(cut_twice({0, 0, 1 << 30, 4}, other)).code, sub_axis_does_not_fit_its_axis);
  EXPECT_EQ(hp::check_layout(cut_twice({0, 2, 1, 4}, other)).code, axis_is_not_in_the_mesh);
  EXPECT_EQ(hp::check_layout(cut_twice({0, -1, 1, 4}, other)).code, axis_is_not_in_the_mesh);
  EXPECT_EQ(hp::check_layout(cut_twice({2, 0, 1, 4}, other)).code, dim_is_out_of_range);
  EXPECT_EQ(hp::check_layout(cut_twice({-1, 0, 1, 4}, other)).code, dim_is_out_of_range);
  EXPECT_EQ(hp::check_layout(cut_twice(other, {0, 0, 1, 4})).code, cuts_are_not_in_order);
  hp::layout_value l = cut_twice({0, 0, 1, 4}, other);
  l.partial[1] = hp::reduce_op::sum;
  EXPECT_EQ(hp::check_layout(l), (hp::layout_status{axis_shards_and_is_partial, 1, 0, 1, 0, 0}));
  for (const int cuts : {-1, hp::max_cuts + 1}) {
    l.cut_count = cuts;
    EXPECT_EQ(hp::check_layout(l).code, too_many_cuts);
  }
  l = hp::replicated({1, {4}}, hp::max_dims + 1);
  EXPECT_EQ(hp::check_layout(l).code, too_many_dims);
  l.rank = -1;
  EXPECT_EQ(hp::check_layout(l).code, too_many_dims);
  for (const hp::mesh_shape& m :
       {hp::mesh_shape{1, {0}}, hp::mesh_shape{2, {2, -2}}, hp::mesh_shape{2, {-2, -2}}, hp::mesh_shape{-1, {}},
        hp::mesh_shape{hp::max_axes + 1, {1, 1, 1, 1, 1, 1, 1, 1}}, hp::mesh_shape{2, {1 << 16, 1 << 15}}})
    EXPECT_EQ(hp::check_shape(hp::replicated(m, 1), hp::shape{8}).code, mesh_is_not_valid);
}

TEST(layout_value, every_layout_of_a_map_is_one) {
  for (const hp::mesh_shape& m : worlds::small_meshes())
    for (const hp::layout_value& l : worlds::partial_layouts(m, 2, {hp::reduce_op::sum}))
      ASSERT_EQ(hp::check_layout(l), hp::layout_status{});
}

TEST(layout_value, negative_extents_and_hidden_overflows_are_refused) {
  const hp::extent_t large = hp::extent_t{1} << 40;
  hp::layout_value l = hp::replicated({1, {4}}, 3);
  hp::append_cut(l, {2, 0, 1, 4});
  const auto refused = [&](const hp::shape& s) { return hp::check_shape(l, s); };
  EXPECT_EQ(refused({4, 4, -8}), (hp::layout_status{hp::layout_code::extent_is_negative, 2, 0, 0, -8, 0}));
  EXPECT_EQ(refused({-4, -4, 8}).code, hp::layout_code::extent_is_negative) << "a product of 128";
  EXPECT_EQ(refused({large, large, 0}).code, hp::layout_code::element_count_overflows);
  EXPECT_EQ(refused({0, large, large}).code, hp::layout_code::element_count_overflows);
  EXPECT_EQ(refused({0, large, 4}).code, hp::layout_code::ok);
  EXPECT_TRUE(hp::element_count({0, large, large}).overflow);
  EXPECT_EQ(hp::element_count({0, large, 4}).value, 0);
  l.padded = 4;
  EXPECT_EQ(refused({1, 1, std::numeric_limits<hp::extent_t>::max()}).code, hp::layout_code::element_count_overflows);
  EXPECT_EQ(refused({1, 1, -1}).code, hp::layout_code::extent_is_negative);
}

}  // namespace
