// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/search/strategy_candidates.hpp>

#include <gtest/gtest.h>

#include "../../examples/models/deepseek_v3.hpp"
#include "search_models.hpp"

namespace {

namespace hp = hyperparallel;

TEST(StrategyCandidates, AreListedOnce) {
  std::mt19937 random(2);
  for (int i = 0; i < 20; ++i) {
    const hp::graph g = searched::random_model(random, true).build();
    const hp::model_parts parts = hp::detail::find_parts(g);
    for (const bool reduced : {true, false}) {
      hp::plan_space s;
      hp::detail::fill_space(s, g, parts, {.dp = 2, .x = i % 2 + 1, .tp = 2}, reduced);
      EXPECT_TRUE(s.names_suffice);
      ASSERT_EQ(s.parts, parts.part.size);
      for (int p = 0; p < s.parts; ++p) {
        ASSERT_GE(s.candidate[p].size, 1);
        for (int a = 0; a < s.candidate[p].size; ++a)
          for (int b = 0; b < a; ++b) EXPECT_FALSE(s.candidate[p][a].rule == s.candidate[p][b].rule);
      }
    }
  }
}

TEST(StrategyCandidates, WithoutTensorAxesThereIsOne) {
  const hp::graph g = searched::small_model{}.build();
  hp::plan_space s;
  hp::detail::fill_space(s, g, hp::detail::find_parts(g), {.dp = 4, .zero = 3}, false);
  for (int p = 0; p < s.parts; ++p) EXPECT_EQ(s.candidate[p].size, 1);
  const int choice[8] = {};
  hp::strategy_value made;
  ASSERT_TRUE(hp::detail::compose(s, choice, made));
  // Data parallel with everything sharded is what add_zero says.
  hp::strategy_value zero;
  zero.mesh = made.mesh;
  hp::add_zero(zero, "dp", 3);
  const hp::sharded_program a = hp::partition(g, made), b = hp::partition(g, zero);
  ASSERT_EQ(a.status.code, hp::strategy_code::ok);
  ASSERT_EQ(a.value.size, b.value.size);
  for (int v = 0; v < a.value.size; ++v) EXPECT_TRUE(a.value[v].layout == b.value[v].layout);
}

// A strategy holds all rules that any choice of candidates of the largest example has.
TEST(StrategyCandidates, RulesFitAStrategy) {
  hp::model_builder m;
  models::deepseek_v3<16, 32>::build(m);
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  const hp::model_parts parts = hp::detail::find_parts(m.graph);
  for (const int x : {1, 2}) {
    hp::plan_space s;
    hp::detail::fill_space(s, m.graph, parts, {.dp = 2, .ep = 2, .cp = 2, .x = x, .tp = 2, .zero = 3}, true);
    int most = 0, choice[hp::max_model_parts] = {};
    for (int p = 0; p < s.parts; ++p)
      for (int c = 0; c < s.candidate[p].size; ++c)
        if (s.candidate[p][c].rule.size > s.candidate[p][choice[p]].rule.size) choice[p] = c;
    hp::strategy_value made;
    EXPECT_TRUE(hp::detail::compose(s, choice, made));
    most = made.rule.size;
    EXPECT_LE(most, hp::max_strategy_rules);
    EXPECT_EQ(hp::partition(m.graph, made).status.code, hp::strategy_code::ok);
  }
}

TEST(StrategyCandidates, ContextForms) {
  const hp::graph g = searched::small_model{}.build();
  const hp::model_parts parts = hp::detail::find_parts(g);
  const int choice[8] = {};
  for (const hp::context_form form :
       {hp::context_form::gathered, hp::context_form::ring, hp::context_form::all_to_all}) {
    hp::plan_space s;
    hp::detail::fill_space(s, g, parts, {.dp = 2, .cp = 2, .context = form}, false);
    hp::strategy_value made;
    ASSERT_TRUE(hp::detail::compose(s, choice, made));
    EXPECT_EQ(hp::partition(g, made).status.code, hp::strategy_code::ok) << hp::name_of(form);
    EXPECT_EQ(hp::detail::same_text(made.ring_axis.text, "cp"), form == hp::context_form::ring);
  }
}

}  // namespace
