// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/part_rules.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/search/strategy_candidates.hpp>

#include "../../examples/models/deepseek_v3.hpp"
#include "search/search_models.hpp"

namespace {

namespace hp = hyperparallel;

bool same_program(const hp::sharded_program& a, const hp::sharded_program& b) {
  if (a.status.code != b.status.code || a.step.size != b.step.size || a.value.size != b.value.size) return false;
  for (int v = 0; v < a.value.size; ++v)
    if (a.value[v].tensor != b.value[v].tensor || !(a.value[v].layout == b.value[v].layout)) return false;
  for (int i = 0; i < a.step.size; ++i)
    if (a.step[i].is_move != b.step[i].is_move || a.step[i].index != b.step[i].index) return false;
  return true;
}

// The law: narrowed to each part in turn, a family decides what it decided.
void expect_the_same(const hp::graph& g) {
  const hp::model_parts parts = hp::detail::find_parts(g);
  for (int i = 0; i < hp::detail::tensor_family_count; ++i) {
    const hp::detail::tensor_family& f = hp::detail::tensor_family_table[i];
    hp::strategy_value whole;
    whole.mesh = hp::mesh_of({.dp = 2, .x = f.two_axes ? 2 : 1, .tp = 2});
    hp::strategy_value family = whole, narrowed = whole;
    f.add(family);
    for (int r = 0; r < family.rule.size; ++r) family.rule.item[r].if_present = true;
    hp::growing_array<hp::strategy_rule> rules;
    for (int p = 0; p < parts.part.size; ++p)
      ASSERT_TRUE(hp::detail::narrow_rules(g, parts, p, family, rules)) << f.name;
    if (rules.size > hp::max_strategy_rules) continue;
    for (const hp::strategy_rule& r : rules) narrowed.add(r);
    const hp::sharded_program a = hp::partition(g, family), b = hp::partition(g, narrowed);
    if (a.status.code == hp::strategy_code::ok) {
      EXPECT_TRUE(same_program(a, b)) << f.name;
    }
  }
}

TEST(PartRules, TogetherDecideTheSame) {
  std::mt19937 random(5);
  for (int i = 0; i < 20; ++i) expect_the_same(searched::random_model(random, i % 2 == 0).build());
}

TEST(PartRules, OfNamesThatContainEachOther) {
  hp::model_builder m;
  models::deepseek_v3<8, 32>::build(m);
  hp::differentiate(m.graph);
  expect_the_same(m.graph);
}

TEST(PartRules, SpeakOfOnePartOnly) {
  const hp::graph g = searched::small_model{.layers = 2, .wide_layers = 3, .experts = 4}.build();
  const hp::model_parts parts = hp::detail::find_parts(g);
  hp::strategy_value family;
  hp::add_tensor_parallel(family, "tp");
  hp::detail::add_sequence_parallel(family, "tp");
  for (int p = 0; p < parts.part.size; ++p) {
    hp::growing_array<hp::strategy_rule> rules;
    ASSERT_TRUE(hp::detail::narrow_rules(g, parts, p, family, rules));
    for (const hp::strategy_rule& r : rules) {
      const int dim = hp::detail::find_dim(g, r.dim.text);
      for (int o = 0; o < g.op.size; ++o) {
        const hp::graph_operator& op = g.op[o];
        if (op.forward >= 0 || op.phase > hp::graph_phase::backward || op.kind == hp::id_of<hp::ops::accumulate>)
          continue;
        for (int l = 0; l < op.loop_count; ++l)
          if (op.loop[l].dim == dim && !hp::detail::is_whole(g.rule_of(op), l) &&
              hp::detail::name_matches(r.where.text, g.name_of_op(o))) {
            EXPECT_EQ(parts.ruled_by[o], p) << g.name_of_op(o) << " " << r.where.text;
          }
      }
    }
  }
}

}  // namespace
