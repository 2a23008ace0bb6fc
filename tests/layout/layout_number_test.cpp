// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/layout/layout_number.hpp>

#include <gtest/gtest.h>

#include "support/all_layouts.hpp"

namespace {

namespace hp = hyperparallel;

TEST(layout_number, digits_hold_every_layout_whole) {
  for (const hp::mesh_shape& m : worlds::small_meshes())
    for (int rank = 0; rank <= 3; ++rank)
      for (hp::layout_value l : worlds::all_layouts(m, rank))
        for (int op = 0; op <= static_cast<int>(hp::reduce_op::any); ++op) {
          if (op > 0 &&
              hp::set_partial(l, m.axis_count - 1, static_cast<hp::reduce_op>(op)).code != hp::layout_code::ok)
            continue;

          ASSERT_TRUE(hp::detail::layout_of_digits(m, hp::detail::digits_of_layout(l)) == l);
        }
}

/// Every set of sharded dims may be padded, whatever is partial beside it; such layouts are not divided by digits.
TEST(layout_number, digits_hold_padded_dims) {
  long seen = 0;
  for (const hp::mesh_shape& m : worlds::small_meshes())
    for (int rank = 1; rank <= 3; ++rank)
      for (const hp::layout_value& l : worlds::all_layouts(m, rank))
        for (unsigned padded = 1; padded < 1u << rank; ++padded) {
          hp::layout_value p = l;
          p.padded = padded;
          bool sharded = true;
          for (int d = 0; d < rank; ++d) sharded = sharded && (!hp::is_padded(p, d) || hp::shards_of(p, d) > 1);
          if (!sharded) continue;
          ASSERT_TRUE(hp::detail::layout_of_digits(m, hp::detail::digits_of_layout(p)) == p);
          ASSERT_EQ(hp::detail::divide_by_digits(m, hp::detail::digits_of_layout(p), hp::shape{8, 8, 8}).rank, -1);
          ++seen;
        }
  EXPECT_GT(seen, 100);
}

TEST(layout_number, digits_divide_a_shape_as_the_layout_does) {
  long accepted = 0, refused = 0;
  for (const hp::mesh_shape& m : worlds::small_meshes())
    for (int rank = 0; rank <= 3; ++rank)
      for (const hp::layout_value& l : worlds::all_layouts(m, rank))
        for (const hp::shape& s : {hp::shape{}, hp::shape{6}, hp::shape{4, 6}, hp::shape{2, 3, 8}, hp::shape{0, 5, 12},
                                   hp::shape{6, 6, 6, 6}}) {
          const hp::shape_result expected = hp::local_shape(l, s);
          const hp::shape found = hp::detail::divide_by_digits(m, hp::detail::digits_of_layout(l), s);
          const bool accepts = expected.status.code == hp::layout_code::ok;
          ASSERT_EQ(found.rank >= 0, accepts);
          ASSERT_TRUE(!accepts || found == expected.shape);
          ++(accepts ? accepted : refused);
        }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

TEST(layout_number, partial_layouts_are_not_divided_by_digits) {
  const hp::mesh_shape m{2, {2, 2}};
  for (int rank = 0; rank <= 2; ++rank)
    for (int op = 1; op <= static_cast<int>(hp::reduce_op::any); ++op) {
      hp::layout_value l = hp::replicated(m, rank);
      ASSERT_EQ(hp::set_partial(l, 1, static_cast<hp::reduce_op>(op)).code, hp::layout_code::ok);
      for (const hp::shape& s : {hp::shape{}, hp::shape{8}, hp::shape{8, 8}, hp::shape{8, 8, 8}})
        ASSERT_EQ(hp::detail::divide_by_digits(m, hp::detail::digits_of_layout(l), s).rank, -1);
    }
}

TEST(layout_number, negative_digits_shard_nothing_in_as_many_dims) {
  const hp::mesh_shape m{2, {2, 2}};
  for (int rank = 0; rank <= hp::max_dims; ++rank)
    EXPECT_TRUE(hp::detail::layout_of_digits(m, -hp::detail::replicated_digits(rank)) == hp::replicated(m, rank));
}

}  // namespace
