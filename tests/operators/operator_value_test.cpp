// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/operator_value.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

constexpr hp::factor_rule rule_with(const hp::partial_words& words, const char* text = "a,a->a") {
  return hp::rule_from("rule", text, {hp::reduce_op::sum, words}).rule;
}

TEST(OperatorValue, SaysNothingOfPartialOperandsUnlessTold) {
  constexpr hp::operator_value value{"mine", "*->*"};
  EXPECT_EQ(value.unit, hp::compute_unit::vector);
  EXPECT_EQ(value.partials, hp::refuse_partials());
  EXPECT_FALSE(hp::detail::passes_sums_together(rule_with(value.partials)));
  EXPECT_FALSE(hp::detail::passes_sums_of(rule_with(value.partials), 0));
}

TEST(OperatorValue, SumsPassTogetherOrAlone) {
  const hp::factor_rule together = rule_with(hp::linear_together(0b11u)), alone = rule_with(hp::linear_in_each(0b10u));
  EXPECT_TRUE(hp::detail::passes_sums_together(together));
  EXPECT_FALSE(hp::detail::passes_sums_of(together, 0) || hp::detail::passes_sums_of(together, 1));
  EXPECT_FALSE(hp::detail::passes_sums_together(alone) || hp::detail::passes_sums_of(alone, 0));
  EXPECT_TRUE(hp::detail::passes_sums_of(alone, 1));
}

// Only where a result lies like any operand may an operator be placed by where its operands lie.
TEST(OperatorValue, SumsPassTogetherOnlyThroughPointwiseRules) {
  const hp::partial_words words = hp::linear_together(0b11u);
  EXPECT_TRUE(hp::detail::passes_sums_together(rule_with(words, "ab,ab->ab,ab")));
  EXPECT_FALSE(hp::detail::passes_sums_together(rule_with(words, "aB,aB->aB"))) << "a dim that is whole";
  EXPECT_FALSE(hp::detail::passes_sums_together(rule_with(words, "ab,ba->ab"))) << "dims in another order";
  EXPECT_FALSE(hp::detail::passes_sums_together(rule_with(words, "ab,ab->ba")));
  EXPECT_FALSE(hp::detail::passes_sums_together(rule_with(words, "ab,ab->a"))) << "a sum";
  EXPECT_FALSE(hp::detail::passes_sums_together(rule_with(words, "ab,b->ab"))) << "repeated";
  EXPECT_FALSE(hp::detail::passes_sums_together(rule_with(words, "a,a,a->a"))) << "the third operand does not wait";
  EXPECT_FALSE(hp::detail::is_pointwise(rule_with({}, "->a"))) << "no operand tells where";
}

constexpr hp::operator_value keyed(const char* name, const char* text, std::uint64_t key) {
  hp::operator_value o{name, text};
  o.key = key;
  return o;
}
constexpr hp::operator_value first = keyed("first", "*->*", 1), second = keyed("second", "*,*->*", 2),
                             stranger = keyed("stranger", "*->*", 3);
constexpr const hp::operator_value* items[] = {&first, &second};
constexpr hp::operator_list list{items, 2};

TEST(OperatorValue, AListKnowsItsOperatorsByPlace) {
  static_assert(list.id_of(first) == static_cast<hp::operator_id>(0));
  EXPECT_EQ(list.id_of(second), static_cast<hp::operator_id>(1));
  EXPECT_STREQ(list[list.id_of(second)].name, "second");
  EXPECT_TRUE(list.has(list.id_of(first)));
  EXPECT_FALSE(list.has(list.id_of(stranger)));
  EXPECT_FALSE(list.has(static_cast<hp::operator_id>(-1)));
  EXPECT_FALSE(hp::operator_list{}.has(static_cast<hp::operator_id>(0)));
}

// More operators than a byte counts keep their numbers apart.
TEST(OperatorValue, ListsAreLong) {
  hp::operator_value many[300] = {};
  const hp::operator_value* places[300];
  for (int i = 0; i < 300; ++i) {
    many[i].key = static_cast<std::uint64_t>(i);
    places[i] = &many[i];
  }
  const hp::operator_list long_list{places, 300};
  for (int i = 0; i < 300; ++i) EXPECT_EQ(static_cast<int>(long_list.id_of(many[i])), i);
}

}  // namespace
