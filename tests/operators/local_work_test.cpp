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

// Causal: half of the pairs; of a window, its keys for every query; of a ring, the blocks before the device's own.
TEST(LocalWork, PairsOfAttentionAreThoseThatAreNotMasked) {
  const hp::factor_rule rule = hp::rule_from("rule", "bsD,bTD,bTE->bsE", {}).rule;
  hp::extent_t attribute[2] = {};
  hp::local_work w{.rule = &rule, .attribute = attribute, .points = 4 * 8 * 8 * 3};
  w.whole[rule.operand[1].term[1]] = 8;
  const auto pairs = [&w] { return hp::ops::pairs_of_attention(w, 3, 1); };
  EXPECT_EQ(pairs(), 4 * 8 * 8);
  attribute[1] = 2;
  EXPECT_EQ(pairs(), 4 * 8 * 3) << "the key at hand and one on either side";
  attribute[0] = 1;
  EXPECT_EQ(pairs(), 4 * 8 * 2);
  attribute[1] = 20;
  EXPECT_EQ(pairs(), 4 * 8 * 8 / 2) << "a window that is no limit";
  attribute[1] = 0;
  EXPECT_EQ(pairs(), 4 * 8 * 8 / 2);
  w.ring_size = 4;
  hp::extent_t all = pairs();  // the block at home
  for (w.turns = 1; w.turns < 4; ++w.turns) all += pairs();
  EXPECT_EQ(all, 4 * 8 * 8 / 2 + 4 * 8 * 8 * (3 + 2 + 1) / 4);
}

}  // namespace
