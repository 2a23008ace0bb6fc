// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/stored_forms.hpp>

#include <lowering/broken_tables.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

TEST(StoredForms, RulesAndPlansOfMovesComeBackWithoutTheirElements) {
  int rules = 0, plans = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const hp::sharded_program p = programs::program_of(hp::named_strategy_at(i).name, 4, 1);
    if (p.status.code != hp::strategy_code::ok) continue;
    for (const hp::graph_rule& r : p.graph.rule) {
      const hp::graph_rule back = hp::detail::restored(hp::detail::stored(r));
      EXPECT_EQ(back.kind, r.kind);
      EXPECT_EQ(back.reduction, r.reduction);
      EXPECT_EQ(back.text, r.text);
      EXPECT_EQ(back.forward, r.forward);
      EXPECT_EQ(back.ranks.count, r.ranks.count);
      EXPECT_EQ(static_cast<const hp::rule_facts&>(back.rule), r.rule);
      for (int o = 0; o < hp::max_operands; ++o) EXPECT_EQ(back.rule.operand[o], hp::tensor_factors{});
      // What is not among its first elements is empty, so that these are all.
      for (int o = r.rule.operand_count; o < hp::max_operands; ++o) EXPECT_EQ(r.rule.operand[o], hp::tensor_factors{});
      for (int o = r.rule.result_count; o < hp::max_results; ++o) EXPECT_EQ(r.rule.result[o], hp::tensor_factors{});
      for (int f = r.rule.factor_count; f < hp::max_factors; ++f) EXPECT_EQ(r.rule.factor[f], hp::factor{});
      ++rules;
    }
    for (const hp::move_pulls& m : hp::pulls_of(p, hp::kinds_of_moves(p, hp::without_links)).kind) {
      const hp::move_parts back = hp::detail::restored(hp::detail::stored(m.parts));
      ASSERT_EQ(back.count, m.parts.count);
      EXPECT_EQ(back.dim, m.parts.dim);
      EXPECT_EQ(back.split, m.parts.split);
      for (int k = 0; k < back.count; ++k) {
        EXPECT_EQ(back.part[k].step_count, m.parts.part[k].step_count);
        EXPECT_EQ(back.part[k].kind, m.parts.part[k].kind);
        EXPECT_EQ(back.part[k].shape, m.parts.part[k].shape);
      }
      ++plans;
    }
  }
  EXPECT_GE(rules, 900);
  EXPECT_GE(plans, 100);
}

}  // namespace
