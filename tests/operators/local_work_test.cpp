// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/local_work.hpp>

#include <hyperparallel/operators/ops/attention.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

TEST(LocalWork, WidthsAreWholeAndPointsAreTheDevices) {
  const hp::factor_rule rule = hp::rule_from("rule", "ab,bC->aC", {}).rule;
  hp::local_work w{.rule = &rule, .extent = {2, 3, 5}, .whole = {4, 6, 5}, .points = 30, .flops_per_point = 2};
  EXPECT_EQ(w.width(0), 6);
  EXPECT_EQ(w.width(1), 5);
  EXPECT_EQ(w.per_point(), 60);
}

// Causal: half of the pairs; of a ring, the blocks that lie before the device's own.
TEST(LocalWork, PairsOfAttentionAreThoseThatAreNotMasked) {
  const hp::extent_t full[] = {0}, causal[] = {1};
  hp::local_work w{.attribute = full, .points = 4 * 8 * 8 * 3};
  EXPECT_EQ(hp::ops::pairs_of_attention(w, 3), 4 * 8 * 8);
  w.attribute = causal;
  EXPECT_EQ(hp::ops::pairs_of_attention(w, 3), 4 * 8 * 8 / 2);
  w.ring_size = 4;
  hp::extent_t all = hp::ops::pairs_of_attention(w, 3);  // the block at home
  for (w.turns = 1; w.turns < 4; ++w.turns) all += hp::ops::pairs_of_attention(w, 3);
  EXPECT_EQ(all, 4 * 8 * 8 / 2 + 4 * 8 * 8 * (3 + 2 + 1) / 4);
}

}  // namespace
