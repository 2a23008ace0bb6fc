// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/forms/piece_group.hpp>

#include <gtest/gtest.h>

#include "support/all_layouts.hpp"

namespace hpd = hyperparallel::distributed;
using namespace worlds;

namespace {

TEST(piece_group, members_partition_the_mesh_and_hold_the_pieces_of_a_row_in_order) {
  for (const hp::mesh_shape& m : small_meshes())
    for (const hp::layout_value& l : all_layouts(m, 2)) {
      const hp::shape s = divisible_shape(m, 2);
      for (unsigned dims = 0; dims < 4; ++dims) {
        const hpd::piece_group g = hpd::group_over(l, dims);
        for (int p = 0; p < hp::position_count(m); ++p) {
          const hp::box own = hp::slice_at(l, s, hp::coordinates_of(m, p));
          EXPECT_EQ(hpd::detail::member_of(g, p, hpd::detail::piece_of(g, p)), p);
          hp::extent_t covered = 0, behind = 0;
          for (int i = 0; i < g.size; ++i) {
            const int q = hpd::detail::member_of(g, p, i);
            EXPECT_EQ(hpd::detail::piece_of(g, q), i);
            EXPECT_EQ(hpd::detail::member_of(g, q, hpd::detail::piece_of(g, p)), p);
            const hp::box b = hp::slice_at(l, s, hp::coordinates_of(m, q));
            for (int d = 0; d < 2; ++d)
              if ((dims >> d & 1u) == 0) {
                EXPECT_EQ(b.dim[d], own.dim[d]);
              }
            if (dims == 2) {
              EXPECT_EQ(b.dim[1].begin, behind);
              behind = b.dim[1].end;
            }
            covered += hp::volume(b);
          }
          hp::extent_t row = 1;
          for (int d = 0; d < 2; ++d) row *= (dims >> d & 1u) != 0 ? s.extent[d] : own.dim[d].end - own.dim[d].begin;
          EXPECT_EQ(covered, row);
        }
      }
    }
}

// A mesh of one axis of 8 whose sub-axes shard both dims.
constexpr hp::layout_value split_axis = [] {
  hp::layout_value l = hp::replicated({1, {8}}, 2);
  hp::append_cut(l, {0, 0, 4, 2});
  hp::append_cut(l, {1, 0, 1, 2});
  return l;
}();

TEST(piece_group, follows_sub_axes) {
  constexpr hpd::piece_group g = hpd::group_over(split_axis, 1u);
  static_assert(g.size == 2);
  EXPECT_EQ(hpd::detail::member_of(g, 6, 0), 6);
  EXPECT_EQ(hpd::detail::member_of(g, 6, 1), 7);
  constexpr hpd::piece_group h = hpd::group_over(split_axis, 2u);
  EXPECT_EQ(hpd::detail::member_of(h, 6, 0), 2);
  EXPECT_EQ(hpd::detail::member_of(h, 2, 1), 6);
}

TEST(piece_group, cuts_are_taken_out_and_put_back) {
  for (const hp::mesh_shape& m : small_meshes())
    for (const hp::layout_value& l : all_layouts(m, 3))
      for (unsigned dims = 0; dims < 8; ++dims) {
        const hp::layout_value whole = hpd::detail::without_dims(l, dims);
        EXPECT_EQ(hpd::axes_of(whole, dims), 0u);
        EXPECT_TRUE(hpd::detail::with_cuts(whole, dims, l) == l);
        const unsigned axes = hpd::axes_of(l, dims);
        EXPECT_EQ(hpd::axes_of(hpd::detail::without_axes(l, axes), 7u) & axes, 0u);
      }
  hp::layout_value padded = hp::replicated({1, {2}}, 2);
  hp::append_cut(padded, {1, 0, 1, 2});
  padded.padded = 2u;
  EXPECT_EQ(hpd::detail::without_dims(padded, 2u).padded, 0u);
  EXPECT_TRUE(hpd::detail::with_cuts(hpd::detail::without_dims(padded, 2u), 2u, padded) == padded);
  const hp::layout_value vector = hpd::detail::with_cuts(hp::replicated({1, {2}}, 1), 1u, padded, 1);
  EXPECT_EQ(hp::shards_of(vector, 0), 2);
  EXPECT_EQ(vector.padded, 1u);
}

}  // namespace
