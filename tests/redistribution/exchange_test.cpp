// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/exchange.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/redistribution/bound.hpp>

#include "replay/exchange_replay.hpp"
#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

/// The laws of the boxes of one receiver, for the nearest replica of every piece.
void expect_laws(const hp::layout_value& a, const hp::layout_value& b, const hp::shape& s) {
  const hp::replica_choice nearest{};
  for (int p = 0; p < hp::position_count(a.mesh); ++p) {
    const hp::coordinate c = hp::coordinates_of(a.mesh, p);
    const hp::receiver r = hp::receiver_at(a, b, s, nearest, c);
    ASSERT_TRUE(r.wanted == hp::slice_at(b, s, c));
    hp::extent_t filled = 0;
    for (hp::extent_t k = 0; k < r.boxes; ++k) {
      const hp::exchange_box x = hp::box_at(a, r, k);
      ASSERT_GE(x.sender, 0);
      ASSERT_LT(x.sender, hp::position_count(a.mesh));
      ASSERT_GT(hp::volume(x.global), 0) << "no empty box is listed";
      ASSERT_TRUE(hp::intersection(x.global, r.wanted) == x.global);
      const hp::box held = hp::slice_at(a, s, hp::coordinates_of(a.mesh, x.sender));
      ASSERT_TRUE(hp::intersection(x.global, held) == x.global);
      if (hp::volume(hp::intersection(x.global, hp::slice_at(a, s, c))) > 0) {
        ASSERT_EQ(x.sender, p) << "what a receiver holds it takes from itself";
      }
      for (hp::extent_t j = 0; j < k; ++j)
        ASSERT_EQ(hp::volume(hp::intersection(x.global, hp::box_at(a, r, j).global)), 0);
      filled += hp::volume(x.global);
      // The nearest replica differs from the receiver only on axes that shard the source.
      for (int axis = 0; axis < a.mesh.axis_count; ++axis) {
        bool sharding = false;
        for (int i = 0; i < a.cut_count; ++i) sharding = sharding || a.cut[i].axis == axis;
        if (!sharding) {
          ASSERT_EQ(hp::coordinates_of(a.mesh, x.sender).at[axis], c.at[axis]);
        }
      }
    }
    ASSERT_EQ(filled, hp::volume(r.wanted));
    ASSERT_EQ(hp::received_by(a, b, s, nearest, p), hp::least_received(a, b, s, c));
  }
}

TEST(exchange, boxes_tile_the_target_and_come_from_their_holders) {
  for (const hp::mesh_shape& m : worlds::small_meshes())
    for (const hp::layout_value& a : worlds::all_layouts(m, 2))
      for (const hp::layout_value& b : worlds::all_layouts(m, 2)) expect_laws(a, b, worlds::divisible_shape(m, 2));
}

TEST(exchange, padded_dims_too_down_to_empty_boxes) {
  for (const hp::mesh_shape& m : {hp::mesh_shape{1, {4}}, hp::mesh_shape{2, {2, 3}}})
    for (hp::layout_value a : worlds::all_layouts(m, 2))
      for (hp::layout_value b : worlds::all_layouts(m, 2)) {
        a.padded = b.padded = 3;
        for (const hp::shape& s : {hp::shape{7, 5}, hp::shape{1, 6}, hp::shape{0, 4}, hp::shape{9, 13}})
          expect_laws(a, b, s);
      }
}

}  // namespace
