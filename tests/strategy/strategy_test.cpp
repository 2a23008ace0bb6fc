// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/strategy.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

namespace hp = hyperparallel;

TEST(strategy, rules_stand_in_the_order_in_which_they_were_added) {
  hp::strategy_value s;
  s.add(hp::shard_dim("batch", "dp")).add(hp::shard_dim("ffn", "tp", "*.experts.*"));
  ASSERT_EQ(s.rule.size, 2);
  EXPECT_EQ(s.rule[0], (hp::strategy_rule{"dp", "batch", hp::rule_stage::compute, "*", false, false}));
  EXPECT_EQ(s.rule[1], (hp::strategy_rule{"tp", "ffn", hp::rule_stage::compute, "*.experts.*", false, false}));
}

TEST(strategy, the_forms_differ_in_what_they_let_pass) {
  const hp::strategy_rule must = hp::shard_dim("ffn", "tp"), present = hp::shard_dim_if_present("ffn", "tp"),
                          divisible = hp::shard_dim_if_divisible("ffn", "tp"),
                          stage = hp::shard_stage(hp::rule_stage::state, "dp", "*.weight");
  EXPECT_TRUE(!must.optional && !must.if_present);
  EXPECT_TRUE(!present.optional && present.if_present);
  EXPECT_TRUE(divisible.optional && divisible.if_present);
  EXPECT_EQ(stage, (hp::strategy_rule{"dp", "*", hp::rule_stage::state, "*.weight", true, true}));
}

TEST(strategy, equality_is_of_everything) {
  const hp::strategy_value a;
  hp::strategy_value b;
  EXPECT_TRUE(a == b);
  b.keep_moved = true;
  EXPECT_FALSE(a == b);
  b = a;
  b.pin.push({"*.weight", 1, {"tp"}});
  EXPECT_FALSE(a == b);
}

TEST(strategy, stages_have_names_of_their_own) {
  std::set<std::string> names;
  for (int s = 0; s <= static_cast<int>(hp::rule_stage::state); ++s)
    names.insert(hp::name_of(static_cast<hp::rule_stage>(s)));
  EXPECT_EQ(names, (std::set<std::string>{"compute", "parameter", "gradient", "state"}));
}

template <hp::strategy_value S>
struct as_argument {
  static constexpr int rules = S.rule.size;
};
constexpr hp::strategy_value two_rules() {
  hp::strategy_value s;
  s.add(hp::shard_dim("batch", "dp")).add(hp::shard_dim("ffn", "tp"));
  return s;
}
static_assert(as_argument<two_rules()>::rules == 2, "it is structural");

// A rule or pin that has no place would be left out, and the strategy be another one.
TEST(strategy, what_it_cannot_hold_is_refused) {
  hp::strategy_value rules, pins;
  for (int r = 0; r < hp::max_strategy_rules; ++r) rules.add(hp::shard_dim_if_present("ffn", "tp"));
  for (int p = 0; p < hp::max_strategy_pins; ++p) pins.add(hp::strategy_pin{"*.weight", 1, {"tp"}});
  EXPECT_EQ(rules.refused, hp::strategy_status{});
  EXPECT_EQ(pins.refused, hp::strategy_status{});
  rules.add(hp::shard_dim("batch", "dp"));
  pins.add(hp::strategy_pin{"*.bias", 1, {"tp"}});
  EXPECT_EQ(rules.refused.code, hp::strategy_code::too_many_rules);
  EXPECT_EQ(rules.refused.extent, hp::max_strategy_rules + 1);
  EXPECT_EQ(pins.refused.code, hp::strategy_code::too_many_rules);
  EXPECT_EQ(pins.refused.pieces, hp::max_strategy_pins);
  rules.refuse({hp::strategy_code::name_is_unknown});
  EXPECT_EQ(rules.refused.code, hp::strategy_code::too_many_rules) << "the first reason stays";
}

}  // namespace
