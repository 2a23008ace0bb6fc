// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/costs.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

TEST(pipeline_costs, one_entry_one_a_stage_or_one_a_stage_and_micro_batch) {
  hp::growing_array<hp::stage_times> list;
  EXPECT_EQ(hp::entry_of(list, 3, 2, 1, 1), (hp::stage_times{1, 1, 1}));
  list.push({7, 8, 9});
  EXPECT_EQ(hp::entry_of(list, 3, 2, 2, 1).forward, 7);
  list.push({8, 0, 0});
  list.push({9, 0, 0});
  for (int s = 0; s < 3; ++s) EXPECT_EQ(hp::entry_of(list, 3, 2, s, 1).forward, 7 + s);
  for (int i = 3; i < 6; ++i) list.push({7 + i, 0, 0});
  for (int s = 0; s < 3; ++s)
    for (int k = 0; k < 2; ++k) EXPECT_EQ(hp::entry_of(list, 3, 2, s, k).forward, 7 + 2 * s + k);
}

TEST(pipeline_costs, lists_of_other_lengths_negative_and_overflowing_amounts_do_not_fit) {
  hp::pipeline_costs c = hp::equal_stages({1, 1, 1}, 2);
  EXPECT_TRUE(hp::costs_fit(c, 4, 8));
  c.times.push({1, 1, 1});
  EXPECT_FALSE(hp::costs_fit(c, 4, 8));
  c.times.resize(4, {1, 1, 1});
  EXPECT_TRUE(hp::costs_fit(c, 4, 8));
  c.times.resize(32, {1, 1, 1});
  EXPECT_TRUE(hp::costs_fit(c, 4, 8));
  c.times[31].weight_gradient = -1;
  EXPECT_FALSE(hp::costs_fit(c, 4, 8));
  c.times[31].weight_gradient = INT64_MAX / 64;
  EXPECT_FALSE(hp::costs_fit(c, 4, 8));
  c.times[31].weight_gradient = 0;
  c.latency = -1;
  EXPECT_FALSE(hp::costs_fit(c, 4, 8));
  c.latency = 0;
  c.overlapped_pair = -2;
  EXPECT_FALSE(hp::costs_fit(c, 4, 8));
  c.overlapped_pair = -1;
  c.bytes.push({0, -5});
  EXPECT_FALSE(hp::costs_fit(c, 4, 8));
}

}  // namespace
