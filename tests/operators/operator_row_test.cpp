// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/operator_row.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

constexpr hp::factor_rule rule_with(const hp::partial_words& words) {
  return hp::rule_from("rule", "a,a->a", {hp::reduce_op::sum, words}).rule;
}

TEST(OperatorRow, SaysNothingOfPartialOperandsUnlessTold) {
  constexpr hp::operator_row row{"mine", "*->*"};
  EXPECT_EQ(row.unit, hp::compute_unit::vector);
  EXPECT_EQ(row.partials, hp::refuse_partials());
  EXPECT_FALSE(hp::passes_sums_together(rule_with(row.partials)));
  EXPECT_FALSE(hp::passes_sums_of(rule_with(row.partials), 0));
}

TEST(OperatorRow, SumsPassTogetherOrAlone) {
  const hp::factor_rule together = rule_with(hp::linear_together(0b11u)), alone = rule_with(hp::linear_in_each(0b10u));
  EXPECT_TRUE(hp::passes_sums_together(together));
  EXPECT_FALSE(hp::passes_sums_of(together, 0) || hp::passes_sums_of(together, 1));
  EXPECT_FALSE(hp::passes_sums_together(alone) || hp::passes_sums_of(alone, 0));
  EXPECT_TRUE(hp::passes_sums_of(alone, 1));
}

}  // namespace
