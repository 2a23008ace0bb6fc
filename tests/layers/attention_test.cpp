// SPDX-License-Identifier: Apache-2.0
#include "described.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <hyperparallel/layers/attention.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

TEST(Attention, ScaleIsTheInverseRoot) {
  for (hp::extent_t width = 1; width <= 4096; ++width) {
    const double expected = 1.0 / std::sqrt(static_cast<double>(width));
    EXPECT_NEAR(hp::detail::attention_scale(width), expected, 4e-16 * expected) << width;
  }
}

TEST(Attention, MakesNamedTensors) {
  token_graph g(2, 3, 16);
  const hp::attention_layer layer{.query_heads = 6, .key_heads = 2, .head_dim = 4, .rope_base = 1e4};
  const int y = layer(g.m, g.x);
  EXPECT_EQ(described(g.m.graph, y), "attention.output (batch 2, seq 3, hidden 16)");
  EXPECT_EQ(described(g.m.graph, hp::graph_tensor_kind::parameter),
            (strings{"attention.query.weight (hidden 16, key_heads 2, query_group 3, head_dim 4)",
                     "attention.key.weight (hidden 16, key_heads 2, head_dim 4)",
                     "attention.value.weight (hidden 16, key_heads 2, head_dim 4)",
                     "attention.output.weight (key_heads 2, query_group 3, head_dim 4, hidden 16)"}));
  EXPECT_EQ(operators(g.m.graph),
            (strings{"contract attention.query", "contract attention.key", "contract attention.value",
                     "rope attention.query_rotated", "rope attention.key_rotated", "attention attention.attend",
                     "contract attention.output"}));
  EXPECT_EQ(described(g.m.graph, "attention.attend:1"),
            "attention.attend:1 (batch 2, seq 3, key_heads 2, query_group 3)");
  EXPECT_EQ(g.m.graph.status.code, hp::graph_code::ok);
}

TEST(Attention, ProjectionsMayHaveBiases) {
  for (int options = 0; options < 4; ++options) {
    token_graph g(2, 3, 16);
    const bool inside = (options & 1) != 0, output = (options & 2) != 0;
    const hp::attention_layer layer{
        .query_heads = 6, .key_heads = 2, .head_dim = 4, .query_key_value_bias = inside, .output_bias = output};
    EXPECT_EQ(described(g.m.graph, layer(g.m, g.x)), "attention.output (batch 2, seq 3, hidden 16)");
    ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
    strings biases;
    for (const std::string& parameter : described(g.m.graph, hp::graph_tensor_kind::parameter))
      if (parameter.find("bias") != std::string::npos) biases.push_back(parameter);
    strings expected;
    if (inside)
      expected = {"attention.query.bias (key_heads 2, query_group 3, head_dim 4)",
                  "attention.key.bias (key_heads 2, head_dim 4)", "attention.value.bias (key_heads 2, head_dim 4)"};
    if (output) expected.push_back("attention.output.bias (hidden 16)");
    EXPECT_EQ(biases, expected);
  }
}

TEST(Attention, EveryOptionInClosedForm) {
  for (int options = 0; options < 8; ++options) {
    for (const hp::extent_t key_heads : {1, 2, 3, 6}) {
      token_graph g(2, 3, 10);
      const bool causal = (options & 1) != 0, rope = (options & 2) != 0, norm = (options & 4) != 0;
      const hp::attention_layer layer{.query_heads = 6,
                                      .key_heads = key_heads,
                                      .head_dim = 4,
                                      .causal = causal,
                                      .rope_base = rope ? 1e4 : 0.0,
                                      .query_key_norm = norm};
      layer(g.m, g.x);
      ASSERT_EQ(g.m.graph.status.code, hp::graph_code::ok);
      EXPECT_EQ(hp::parameter_count(g.m.graph), 10 * 4 * (2 * 6 + 2 * key_heads) + (norm ? 2 * 4 : 0));
      EXPECT_EQ(g.m.graph.op.size, 5 + (rope ? 2 : 0) + (norm ? 2 : 0));
      const hp::graph_operator& attend = operator_called(g.m.graph, "attention.attend");
      EXPECT_EQ(attend.integer[0], causal ? 1 : 0);
      EXPECT_DOUBLE_EQ(attend.real[0], 0.5);
      // Queries may be spread over batch, positions, heads and groups; keys' positions and the heads' widths are whole.
      int sharded = 0;
      for (int l = 0; l < attend.loop_count; ++l) sharded += hp::detail::is_whole(g.m.graph.rule_of(attend), l) ? 0 : 1;
      EXPECT_EQ(sharded, 4);
    }
  }
}

TEST(Attention, ScaleCapAndSinksReachTheOperator) {
  token_graph g(2, 3, 16);
  const hp::attention_layer plain{.name = "plain", .query_heads = 6, .key_heads = 2, .head_dim = 4};
  plain(g.m, g.x);
  EXPECT_EQ(operator_called(g.m.graph, "plain.attend").real[1], 0.0);
  hp::attention_layer other = plain;
  other.name = "other";
  other.scale = 0.3;
  other.score_cap = 50.0;
  other.sinks = true;
  other(g.m, g.x);
  ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
  const hp::graph_operator& attend = operator_called(g.m.graph, "other.attend");
  EXPECT_EQ(attend.kind, hp::id_of<hp::ops::attention_with_sinks>);
  EXPECT_EQ(attend.real[0], 0.3);
  EXPECT_EQ(attend.real[1], 50.0);
  EXPECT_EQ(described(g.m.graph, "other.sinks"), "other.sinks (key_heads 2, query_group 3)");
  EXPECT_EQ(described(g.m.graph, "other.attend:1"), "other.attend:1 (batch 2, seq 3, key_heads 2, query_group 3)");
}

TEST(Attention, MisuseIsReported) {
  token_graph g(2, 3, 16);
  EXPECT_EQ((hp::attention_layer{.query_heads = 6, .key_heads = 4, .head_dim = 4}(g.m, g.x)), -1);
  EXPECT_EQ(mistake(g.m.graph), "heads_do_not_divide attention 6 4");
  token_graph none(2, 3, 16);
  EXPECT_EQ((hp::attention_layer{.query_heads = 6, .key_heads = 0, .head_dim = 4}(none.m, none.x)), -1);
  EXPECT_EQ(mistake(none.m.graph), "heads_do_not_divide attention 6 0");
  token_graph flat(2, 3, 16);
  EXPECT_EQ(hp::attention_layer{}(flat.m, flat.m.input("flat", {flat.batch, flat.hidden})), -1);
  EXPECT_EQ(mistake(flat.m.graph), "rank_differs_from_text attention flat 2 3");
}

}  // namespace
