// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/sizes.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

TEST(pipeline_sizes, sizes_below_one_and_too_large_ones_are_refused) {
  EXPECT_EQ(hp::check_shape({4, 2, 8}), hp::pipeline_code::ok);
  for (const hp::pipeline_shape n :
       {hp::pipeline_shape{0, 2, 8}, {4, 0, 8}, {4, 2, 0}, {-1, 2, 8}, {4, -2, 8}, {4, 2, -8}})
    EXPECT_EQ(hp::check_shape(n), hp::pipeline_code::sizes_are_not_positive);
  EXPECT_EQ(hp::check_shape({0x7fffffff, 0x7fffffff, 1}), hp::pipeline_code::schedule_is_too_large);
  EXPECT_EQ(hp::check_shape({1 << 14, 1, 1 << 14}), hp::pipeline_code::schedule_is_too_large);
  EXPECT_EQ(hp::check_shape({64, 2, 4096}), hp::pipeline_code::ok);
}

TEST(pipeline_sizes, zeros_are_appended_to_both_kinds_of_arrays) {
  hp::growing_pipeline_sizes::per_chunk<int> grown;
  hp::detail::fixed_pipeline_sizes<hp::pipeline_shape{2, 1, 3}>::per_chunk<int> fixed;
  grown.push(7);
  fixed.push(7);
  hp::detail::append_zeros(grown, 4);
  hp::detail::append_zeros(fixed, 4);
  ASSERT_EQ(grown.size, 5);
  ASSERT_EQ(fixed.size, 5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(grown[i], i == 0 ? 7 : 0);
    EXPECT_EQ(fixed[i], i == 0 ? 7 : 0);
  }
}

}  // namespace
