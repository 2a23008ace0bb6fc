// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/backward_rule.hpp>

#include <hyperparallel/operators/operator_list.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;
namespace ops = hp::ops;

constexpr hp::factor_rule forward_of(const char* text, hp::operand_ranks ranks) {
  return hp::rule_from("forward", text, {}, ranks).rule;
}
constexpr hp::operand_ranks two(int a, int b) { return {2, {a, b}}; }

/// x (rows, k) · w (k, columns).
constexpr hp::factor_rule product = forward_of("rk,kc->rc", two(2, 2));

TEST(BackwardRule, FactorsKeepTheirNumbers) {
  constexpr hp::factor_rule dx = hp::detail::backward_rule(product, hp::operator_value_of<ops::contract>, "g0,x1>0");
  static_assert(dx.operand_count == 2 && dx.result_count == 1 && dx.factor_count == product.factor_count);
  static_assert(dx.operand[0] == product.result[0] && dx.operand[1] == product.operand[1]);
  static_assert(dx.result[0] == product.operand[0]);
  static_assert(hp::check_rule(dx).code == hp::rule_code::ok);
  // The columns are summed, what was summed is kept.
  const int columns = product.result[0].term[1], k = product.operand[0].term[1];
  EXPECT_EQ(dx.factor[columns].kind, hp::factor_kind::reduction);
  EXPECT_EQ(dx.factor[k].kind, hp::factor_kind::pass_through);
  EXPECT_EQ(product.factor[k].kind, hp::factor_kind::reduction);
}

// Rows of a table: the gradient of the table alone knows the rows, that of the indices is not asked.
TEST(BackwardRule, UnusedFactorsCanBeLeftOut) {
  constexpr hp::factor_rule forward = forward_of("ab,c->ab", two(2, 1));
  constexpr hp::factor_rule all = hp::detail::backward_rule(forward, hp::operator_value_of<ops::scale>, "g0>0");
  static_assert(hp::check_rule(all).code == hp::rule_code::factor_is_in_no_tensor);
  constexpr hp::factor_rule used = hp::detail::without_unused_factors(all);
  static_assert(used.factor_count == 2 && hp::check_rule(used).code == hp::rule_code::ok);
  static_assert(hp::detail::without_unused_factors(used) == used);
  for (int d = 0; d < 2; ++d) EXPECT_EQ(used.operand[0].term[d], used.result[0].term[d]);
}

TEST(BackwardRule, WhatNeedsReplicationStillDoes) {
  constexpr hp::factor_rule forward = hp::rule_from("norm", "*H,H->*H", {}, two(2, 1)).rule;
  constexpr hp::factor_rule back =
      hp::detail::backward_rule(forward, hp::operator_value_of<ops::rms_norm_gradient>, "g0,x0,x1>01");
  EXPECT_TRUE(hp::detail::is_whole(back, back.operand[1].term[1]));
  EXPECT_FALSE(hp::detail::is_whole(back, back.operand[1].term[0]));
  EXPECT_EQ(back.factor[back.operand[0].term[0]].op, hp::reduce_op::sum) << "the weight's gradient lacks the rows";
}

}  // namespace
