// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/layout/placement.hpp>

#include <gtest/gtest.h>

#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

TEST(placement, every_layout_survives_the_trip) {
  for (const hp::mesh_shape& m : worlds::small_meshes())
    for (int rank = 0; rank <= 3; ++rank)
      for (const hp::layout_value& l : worlds::all_layouts(m, rank)) {
        // Also with each way of making the unused axes partial.
        for (int mask = 0; mask < 1 << m.axis_count; ++mask) {
          hp::layout_value with_partials = l;
          for (int a = 0; a < m.axis_count; ++a)
            if (mask >> a & 1) hp::set_partial(with_partials, a, a % 2 == 0 ? hp::reduce_op::sum : hp::reduce_op::max);
          const hp::placement_list p = hp::placements_of(with_partials);
          const hp::layout_result back = hp::layout_from_placements(m, p.at, m.axis_count, rank);
          ASSERT_EQ(back.status.code, hp::layout_code::ok);
          ASSERT_TRUE(back.layout == with_partials);
        }
      }
}

TEST(placement, without_orders_axes_shard_a_dim_in_mesh_order) {
  const hp::mesh_shape m{2, {2, 4}};
  const hp::placement both[] = {hp::shard(0), hp::shard(0)}, turned[] = {hp::shard(0, 1), hp::shard(0, 0)};
  const hp::layout_value in_order = hp::layout_from_placements(m, both, 2, 1).layout;
  EXPECT_EQ(in_order.cut[0].axis, 0);
  EXPECT_EQ(hp::layout_from_placements(m, turned, 2, 1).layout.cut[0].axis, 1);
}

TEST(placement, negative_dims_count_from_the_end_and_short_lists_replicate_the_rest) {
  const hp::mesh_shape m{2, {2, 4}};
  const hp::placement last[] = {hp::shard(-1)}, second[] = {hp::shard(1), hp::replicate()};
  EXPECT_TRUE(hp::layout_from_placements(m, last, 1, 2).layout == hp::layout_from_placements(m, second, 2, 2).layout);
}

TEST(placement, refusals) {
  const hp::mesh_shape m{1, {2}};
  const auto code = [&m](hp::placement p, int rank) { return hp::layout_from_placements(m, &p, 1, rank).status.code; };
  EXPECT_EQ(code(hp::shard(2), 2), hp::layout_code::dim_is_out_of_range);
  EXPECT_EQ(code(hp::shard(-3), 2), hp::layout_code::dim_is_out_of_range);
  EXPECT_EQ(code(hp::shard(0), 0), hp::layout_code::dim_is_out_of_range);
  EXPECT_EQ(code(hp::replicate(), -1), hp::layout_code::too_many_dims);
  EXPECT_EQ(code(hp::partial_of(hp::reduce_op::none), 1), hp::layout_code::reduction_is_unknown);
  const hp::placement two[] = {hp::replicate(), hp::replicate()};
  EXPECT_EQ(hp::layout_from_placements(m, two, 2, 1).status.code, hp::layout_code::placement_count_exceeds_axes);
}

}  // namespace
