// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/offload/offload_rules.hpp>

#include <hyperparallel/offload/offload_planner.hpp>

#include <offload/small_periods.hpp>

#include <gtest/gtest.h>

#include <initializer_list>

namespace hp = hyperparallel;

namespace {

constexpr const char* name_of(int label) {
  constexpr const char* names[] = {"layers.0.hidden", "layers.1.hidden", "layers.2.hidden", "layers.1.weight"};
  return names[label];
}

constexpr hp::offload_program period() { return offload_testing::three_layers(100); }

template <int N>
constexpr hp::offload_rule_status apply(hp::offload_program& p, const hp::offload_rule (&rules)[N]) {
  return hp::apply_rules(p, rules, N, name_of);
}

struct list {
  hp::growing_array<hp::offload_rule> rule;
  list(std::initializer_list<hp::offload_rule> rules) {
    for (const hp::offload_rule& r : rules) rule.push(r);
  }
};
hp::offload_rule_status apply(hp::offload_program& p, const list& rules) {
  return hp::apply_rules(p, rules.rule.item, rules.rule.size, name_of);
}

using control = hp::offload_control;
using code = hp::offload_rule_code;

TEST(offload_rules, later_rules_win) {
  hp::offload_program p = period();
  const hp::offload_rule rules[] = {
      {"layers.*", control::offload, 1}, {"*.hidden", control::recompute}, {"layers.2.*", control::keep}};
  ASSERT_EQ(apply(p, rules), hp::offload_rule_status{});
  EXPECT_EQ(p.storage[0].control, control::offload) << "it cannot be recomputed";
  EXPECT_EQ(p.storage[0].tier, 1);
  EXPECT_EQ(p.storage[1].control, control::recompute);
  EXPECT_EQ(p.storage[1].tier, -1);
  EXPECT_EQ(p.storage[2].control, control::keep);
  EXPECT_EQ(p.storage[3].control, control::offload);
  ASSERT_EQ(hp::check(p).code, hp::offload_code::ok);

  const hp::planned_offload planned = hp::plan_offload(p);
  ASSERT_TRUE(planned.certificate.feasible);
  EXPECT_EQ(hp::check(p, planned.plan).code, hp::offload_plan_code::ok);
  EXPECT_EQ(planned.plan.gap[0].choice, hp::gap_choice::offload);
  EXPECT_EQ(planned.plan.gap[1].choice, hp::gap_choice::recompute);
  EXPECT_EQ(planned.plan.gap[2].choice, hp::gap_choice::keep);
  EXPECT_EQ(planned.plan.gap[4].choice, hp::gap_choice::offload) << "the gap that wraps";
}

TEST(offload_rules, automatic_takes_a_rule_back) {
  hp::offload_program p = period();
  const hp::offload_rule rules[] = {{"*", control::keep}, {"*.weight", control::automatic}};
  ASSERT_EQ(apply(p, rules), hp::offload_rule_status{});
  EXPECT_EQ(p.storage[0].control, control::keep);
  EXPECT_EQ(p.storage[3].control, control::automatic);
}

TEST(offload_rules, refuses_what_decides_nothing_or_cannot_be) {
  const auto refused = [](const list& rules) {
    hp::offload_program p = period();
    const hp::offload_rule_status status = apply(p, rules);
    EXPECT_EQ(p, period()) << "a refused list changes nothing";
    return status;
  };
  EXPECT_EQ(refused(list{{"*", control::keep}, {"layer.*", control::keep}}),
            (hp::offload_rule_status{code::pattern_matches_nothing, 1}));
  EXPECT_EQ(refused(list{{"*.weight", control::keep}, {"*.weight", control::offload}}),
            (hp::offload_rule_status{code::rules_contradict, 1, 0}));
  EXPECT_EQ(refused(list{{"*.weight", control::offload, 1}, {"*.weight", control::offload}}),
            (hp::offload_rule_status{code::rules_contradict, 1, 0}));
  EXPECT_EQ(refused(list{{"*.weight", control::offload}, {"*", control::keep}}),
            (hp::offload_rule_status{code::rule_is_overridden, 0}));
  EXPECT_EQ(refused(list{{"*", control::offload, 2}}), (hp::offload_rule_status{code::tier_does_not_exist, 0}));
  EXPECT_EQ(refused(list{{"*", control::offload, 0}}), (hp::offload_rule_status{code::tier_does_not_exist, 0}));
  EXPECT_EQ(refused(list{{"*.weight", control::recompute}}),
            (hp::offload_rule_status{code::nothing_can_be_recomputed, 0}));
  hp::offload_program flat = period();
  flat.tier.resize(1);
  EXPECT_EQ(apply(flat, list{{"*", control::offload}}), (hp::offload_rule_status{code::nothing_can_be_offloaded, 0}));
  EXPECT_STREQ(hp::to_text(code::rules_contradict), "two rules with the same pattern say different things");
}

constexpr bool applies_in_a_constant_expression() {
  hp::offload_program p = period();
  const hp::offload_rule rules[] = {{"*.hidden", control::offload}};
  return apply(p, rules).code == code::ok && p.storage[1].control == control::offload &&
         p.storage[3].control == control::automatic;
}
static_assert(applies_in_a_constant_expression());

}  // namespace
