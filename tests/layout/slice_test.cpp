// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/layout/slice.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "replay/exchange_replay.hpp"
#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

/// How many positions hold each element of `s`.
std::vector<int> holders(const hp::layout_value& l, const hp::shape& s) {
  std::vector<int> count(static_cast<std::size_t>(hp::element_count(s).value));
  for (int p = 0; p < hp::position_count(l.mesh); ++p) {
    const hp::box b = hp::slice_at(l, s, hp::coordinates_of(l.mesh, p));
    replay::detail::for_each_element(b, b, s,
                                     [&](hp::extent_t flat, hp::extent_t) { ++count[static_cast<std::size_t>(flat)]; });
  }
  return count;
}

int replicas(const hp::layout_value& l) {
  int shards = 1;
  for (int i = 0; i < l.cut_count; ++i) shards *= l.cut[i].size;
  return hp::position_count(l.mesh) / shards;
}

TEST(slice, the_slices_of_every_layout_tile_the_tensor_once_per_replica) {
  long layouts = 0;
  for (const hp::mesh_shape& m : worlds::small_meshes())
    for (int rank = 1; rank <= 3; ++rank) {
      const hp::shape s = worlds::divisible_shape(m, rank);
      for (const hp::layout_value& l : worlds::all_layouts(m, rank)) {
        ++layouts;
        for (const int n : holders(l, s)) ASSERT_EQ(n, replicas(l));
        const hp::shape local = hp::local_shape(l, s).shape;
        for (int p = 0; p < hp::position_count(m); ++p)
          ASSERT_EQ(hp::volume(hp::slice_of(l, s, p).box), hp::element_count(local).value) << "equal slices";
      }
    }
  EXPECT_EQ(layouts, (2 + 3 + 4) + (5 + 11 + 19) + (16 + 49 + 106) + (5 + 11 + 19));
}

TEST(slice, padded_slices_tile_every_extent_and_are_flat_ceil_chunks) {
  for (const hp::mesh_shape& m : worlds::small_meshes())
    for (hp::layout_value l : worlds::all_layouts(m, 2)) {
      l.padded = 3;
      for (hp::extent_t a = 0; a <= 9; ++a)
        for (hp::extent_t b : {1, 5, 8}) {
          const hp::shape s{a, b};
          for (const int n : holders(l, s)) ASSERT_EQ(n, replicas(l));
          const hp::extent_t chunk = hp::ceil_divide(a, hp::shards_of(l, 0));
          for (int p = 0; p < hp::position_count(m); ++p) {
            const hp::interval d = hp::slice_of(l, s, p).box.dim[0];
            ASSERT_LE(d.end - d.begin, chunk);
            if (d.end > d.begin && d.end != a) {
              ASSERT_EQ(d.end - d.begin, chunk);
            }
          }
        }
    }
}

TEST(slice, positions_that_differ_on_unused_axes_hold_equal_boxes) {
  for (const hp::mesh_shape& m : worlds::small_meshes())
    for (const hp::layout_value& l : worlds::all_layouts(m, 2))
      for (int p = 0; p < hp::position_count(m); ++p)
        for (int q = 0; q < hp::position_count(m); ++q) {
          bool same_on_used = true;
          for (int i = 0; i < l.cut_count; ++i) {
            const int a = l.cut[i].axis;
            same_on_used = same_on_used && hp::coordinates_of(m, p).at[a] == hp::coordinates_of(m, q).at[a];
          }
          const hp::shape s = worlds::divisible_shape(m, 2);
          ASSERT_EQ(hp::slice_of(l, s, p).box == hp::slice_of(l, s, q).box, same_on_used);
        }
}

TEST(slice, the_first_axis_of_a_tuple_is_the_outermost) {
  const hp::mesh_shape m{2, {2, 4}};
  hp::layout_value l = hp::replicated(m, 1);
  hp::append_cut(l, {0, 1, 1, 4});
  hp::append_cut(l, {0, 0, 1, 2});
  for (int p = 0; p < 8; ++p) {
    const hp::extent_t id = p % 4 * 2 + p / 4;
    EXPECT_TRUE((hp::slice_of(l, hp::shape{16}, p) == hp::box{{2 * id, 2 * id + 2}}));
  }
}

TEST(slice, a_shape_that_does_not_divide_has_no_slice) {
  hp::layout_value l = hp::replicated({1, {4}}, 1);
  hp::append_cut(l, {0, 0, 1, 4});
  EXPECT_EQ(hp::slice_of(l, hp::shape{10}, 0).status.code, hp::layout_code::extent_is_not_divisible_by_its_shards);
  EXPECT_EQ(hp::local_shape(l, hp::shape{10}).status.extent, 10);
  EXPECT_EQ(hp::local_shape(l, hp::shape{10}).status.shards, 4);
}

TEST(slice, a_position_outside_the_mesh_is_refused) {
  const hp::layout_value l = hp::replicated({2, {2, 3}}, 1);
  for (const int position : {-1, 6, 1 << 30})
    EXPECT_EQ(hp::slice_of(l, hp::shape{8}, position).status,
              (hp::layout_status{hp::layout_code::position_is_outside_the_mesh, 0, 0, 0, position, 6}));
  EXPECT_EQ(hp::slice_of(l, hp::shape{-8}, 1).status.code, hp::layout_code::extent_is_negative);
}

}  // namespace
