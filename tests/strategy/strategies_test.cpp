// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/strategies.hpp>

#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/strategy/strategy_layouts.hpp>

#include <gtest/gtest.h>
#include <models/strategy_on.hpp>
#include <models/trained_models.hpp>

#include <string>

namespace {

namespace hp = hyperparallel;
using programs::strategy_on;

/// "dim:axis …" of the operator called `name`, axes in the placement's order.
std::string placed(const hp::graph& g, const hp::strategy_value& s, const char* name) {
  hp::strategy_layouts layouts(g, s);
  for (int o = 0; o < g.op.size; ++o) {
    if (!hp::detail::same_text(g.name_of_op(o), name)) continue;
    const hp::operator_placement p = layouts.place(g, o);
    std::string text;
    for (int i = 0; i < p.count; ++i)
      text += std::string(text.empty() ? "" : " ") + g.name_of_dim(g.op[o].loop[p.loop[p.axis[i]]].dim) + ":" +
              s.mesh.label[p.axis[i]].text;
    EXPECT_EQ(layouts.status(), hp::strategy_status{}) << name;
    return text;
  }
  ADD_FAILURE() << "no operator " << name;
  return {};
}

hp::graph model() {
  models::small_moe_config config = programs::divisible_moe;
  config.shared_width = 96;
  return programs::moe_graph({.unrolled = true}, config);
}

TEST(strategies, tensor_parallel_shards_heads_widths_and_vocabulary) {
  const hp::graph g = model();
  hp::strategy_value s = strategy_on({{"tp", 4}});
  hp::add_tensor_parallel(s, "tp");
  EXPECT_EQ(placed(g, s, "layers.0.attention.query"), "key_heads:tp");
  EXPECT_EQ(placed(g, s, "layers.0.attention.attend"), "key_heads:tp");
  EXPECT_EQ(placed(g, s, "layers.0.attention.output"), "key_heads:tp");
  EXPECT_EQ(placed(g, s, "layers.0.moe.experts.gate"), "expert_ffn:tp");
  EXPECT_EQ(placed(g, s, "head.logits"), "vocab:tp");
  EXPECT_EQ(placed(g, s, "layers.0.attention_norm"), "");
  hp::detail::add_sequence_parallel(s, "tp");
  EXPECT_EQ(placed(g, s, "layers.0.attention_norm"), "seq:tp");
  EXPECT_EQ(placed(g, s, "layers.0.attention.query"), "key_heads:tp") << "the first rule that fits decides";
}

TEST(strategies, heads_fall_back_to_groups_of_queries) {
  models::small_moe_config config = programs::divisible_moe;
  config.key_heads = 2;
  const hp::graph g = programs::moe_graph({.unrolled = true}, config);
  hp::strategy_value s = strategy_on({{"tp", 4}});
  hp::detail::add_heads(s, "tp");
  EXPECT_EQ(placed(g, s, "layers.0.attention.query"), "query_group:tp");
  EXPECT_EQ(placed(g, s, "layers.0.attention.key"), "") << "keys are replicated";
}

// Where groups do not divide either, the refusal speaks of the heads, which users know.
TEST(strategies, heads_that_do_not_divide_are_refused_as_heads) {
  models::small_moe_config config = programs::divisible_moe;
  config.query_heads = 8;
  config.key_heads = 2;
  const hp::graph g = programs::moe_graph({.unrolled = true}, config);
  hp::strategy_value s = strategy_on({{"tp", 8}});
  hp::add_tensor_parallel(s, "tp");
  const hp::strategy_status status = hp::partition(g, s).status;
  EXPECT_EQ(status.code, hp::strategy_code::dim_does_not_divide);
  EXPECT_STREQ(g.name_of_dim(status.dim), "key_heads");
  EXPECT_EQ(status.extent, 2);
  EXPECT_EQ(status.pieces, 8);
  EXPECT_STREQ(s.rule[status.rule].axis.text, "tp");
  hp::strategy_value widths = strategy_on({{"tp", 5}});
  widths.add(hp::shard_dim_if_divisible("hidden", "tp")).add(hp::shard_dim("seq", "tp"));
  EXPECT_STREQ(g.name_of_dim(hp::partition(g, widths).status.dim), "seq")
      << "a rule that must decide names its own dim";
}

TEST(strategies, two_dimensions_cross_over) {
  const hp::graph g = model();
  hp::strategy_value s = strategy_on({{"x", 2}, {"y", 4}});
  hp::detail::add_tensor_2d(s, "x", "y");
  EXPECT_EQ(placed(g, s, "layers.0.attention.query"), "hidden:x key_heads:y");
  EXPECT_EQ(placed(g, s, "layers.0.attention.attend"), "key_heads:y key_heads:x");
  EXPECT_EQ(placed(g, s, "layers.0.attention_residual"), "hidden:x hidden:y");
  EXPECT_EQ(placed(g, s, "layers.0.moe.experts.down"), "hidden:x expert_ffn:y");
  EXPECT_EQ(placed(g, s, "layers.0.moe.experts.activation"), "expert_ffn:y expert_ffn:x");
}

TEST(strategies, summa_keeps_rows_and_shards_outputs) {
  const hp::graph g = model();
  hp::strategy_value s = strategy_on({{"row", 2}, {"column", 2}});
  hp::detail::add_summa(s, "row", "column");
  EXPECT_EQ(placed(g, s, "layers.0.attention.query"), "batch:row key_heads:column");
  EXPECT_EQ(placed(g, s, "layers.0.attention.output"), "batch:row hidden:column");
  EXPECT_EQ(placed(g, s, "layers.0.attention_residual"), "batch:row hidden:column");
}

TEST(strategies, context_parallelisms) {
  const hp::graph g = model();
  hp::strategy_value ulysses = strategy_on({{"cp", 4}}), gathered = ulysses, ring = ulysses;
  hp::detail::add_ulysses(ulysses, "cp");
  hp::detail::add_gathered_context(gathered, "cp");
  hp::detail::add_ring(ring, "cp");
  EXPECT_EQ(placed(g, ulysses, "layers.0.attention.attend"), "key_heads:cp");
  EXPECT_EQ(placed(g, ulysses, "layers.0.attention.query"), "seq:cp");
  EXPECT_EQ(placed(g, gathered, "layers.0.attention.attend"), "seq:cp");
  EXPECT_STREQ(ring.ring_axis.text, "cp");
  EXPECT_STREQ(gathered.ring_axis.text, "");
}

TEST(strategies, experts) {
  const hp::graph g = model();
  hp::strategy_value tokens = strategy_on({{"ep", 4}}), replicated = tokens;
  hp::add_expert_parallel(tokens, "ep");
  hp::add_data_parallel(tokens, "ep");
  EXPECT_EQ(placed(g, tokens, "layers.0.moe.experts.up"), "experts:ep");
  EXPECT_EQ(placed(g, tokens, "layers.0.moe.dispatch"), "batch:ep");
  hp::detail::add_replicated_expert_parallel(replicated, "ep");
  EXPECT_EQ(placed(g, replicated, "layers.0.moe.dispatch"), "experts:ep");
  EXPECT_EQ(placed(g, replicated, "layers.0.moe.combine"), "experts:ep");
  EXPECT_EQ(placed(g, replicated, "layers.0.moe.router"), "");
}

TEST(strategies, stages_of_zero_and_levels_of_hybrid_sharding) {
  const auto stages = [](const hp::strategy_value& s) {
    std::string text;
    for (const hp::strategy_rule& r : s.rule) text += hp::name_of(r.stage)[0];
    return text + (s.reduce_at_once ? " at once" : " late") + (s.reshard_after_forward ? ", resharded" : ", kept");
  };
  const char* const expected[] = {"cs late, resharded", "csg at once, resharded", "csgp at once, resharded"};
  const char* const levels[] = {"ccps at once, kept", "ccpsg at once, kept", "ccpsg at once, resharded"};
  for (int n = 1; n <= 3; ++n) {
    hp::strategy_value zero = strategy_on({{"dp", 4}}), hybrid = strategy_on({{"replica", 2}, {"shard", 2}});
    hp::add_zero(zero, "dp", n);
    hp::detail::add_hybrid_sharded(hybrid, "replica", "shard", n);
    EXPECT_EQ(stages(zero), expected[n - 1]);
    EXPECT_EQ(stages(hybrid), levels[n - 1]);
  }
}

TEST(strategies, the_short_form_speaks_of_names) {
  const hp::graph g = model();
  hp::strategy_value s = strategy_on({{"tp", 4}});
  hp::detail::add_column_parallel(s, "*.shared.gate", "tp");
  hp::detail::add_row_parallel(s, "*.shared.down", "tp");
  hp::detail::add_sequence_parallel(s, "*_norm", "tp");
  EXPECT_EQ(placed(g, s, "layers.0.moe.shared.gate"), "shared_ffn:tp");
  EXPECT_EQ(placed(g, s, "layers.0.moe.shared.down"), "shared_ffn:tp");
  EXPECT_EQ(placed(g, s, "layers.0.moe.shared.up"), "");
  EXPECT_EQ(placed(g, s, "layers.0.attention_norm"), "seq:tp");
}

}  // namespace
