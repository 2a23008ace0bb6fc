// SPDX-License-Identifier: Apache-2.0
#include "described.hpp"

#include <gtest/gtest.h>

#include <hyperparallel/layers/layer_norm.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

TEST(LayerNorm, MakesNamedTensors) {
  token_graph g(2, 3, 4);
  const int y = hp::layer_norm_layer{"norm", 0.5}(g.m, g.x);
  EXPECT_EQ(described(g.m.graph, y), "norm (batch 2, seq 3, hidden 4)");
  EXPECT_EQ(described(g.m.graph, hp::graph_tensor_kind::parameter),
            (strings{"norm.weight (hidden 4)", "norm.bias (hidden 4)"}));
  EXPECT_EQ(operators(g.m.graph), (strings{"layer_norm norm"}));
  EXPECT_EQ(operator_called(g.m.graph, "norm").real[0], 0.5);
  EXPECT_EQ(hp::layer_norm_layer{}(g.m, -1), -1);
}

// Groups and batch may be sharded, channels and positions are whole.
TEST(LayerNorm, OfGroupsHasAWeightAChannel) {
  hp::model_builder m;
  const int batch = m.dim("batch", 2), group = m.dim("groups", 3), channel = m.dim("channels", 4);
  const int line = m.input("line", {batch, group, channel, m.dim("length", 5)});
  const int plane = m.input("plane", {batch, group, channel, m.dim("height", 6), m.dim("width", 7)});
  EXPECT_EQ(described(m.graph, hp::group_norm_layer{.name = "one", .positions = 1}(m, line)),
            "one (batch 2, groups 3, channels 4, length 5)");
  EXPECT_EQ(described(m.graph, hp::group_norm_layer{"two"}(m, plane)),
            "two (batch 2, groups 3, channels 4, height 6, width 7)");
  EXPECT_EQ(described(m.graph, "two.bias"), "two.bias (groups 3, channels 4)");
  const hp::factor_rule& rule = m.graph.rule_of(operator_called(m.graph, "two"));
  for (int d = 0; d < 5; ++d) EXPECT_EQ(hp::detail::is_whole(rule, rule.operand[0].term[d]), d >= 2) << d;
  EXPECT_EQ(mistake(m.graph), "ok 0 0");
  EXPECT_EQ((hp::group_norm_layer{"three", 3}(m, line)), -1);
  EXPECT_EQ(mistake(m.graph), "rank_differs_from_text three line 4 5");
}

}  // namespace
