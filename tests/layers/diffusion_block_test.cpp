// SPDX-License-Identifier: Apache-2.0
#include "described.hpp"

#include <gtest/gtest.h>

#include <hyperparallel/layers/diffusion_block.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

TEST(DiffusionBlock, MaskedIsATransformerBlockWithoutMask) {
  token_graph a(2, 3, 8), b(2, 3, 8);
  const hp::attention_layer heads{.query_heads = 2, .key_heads = 2, .head_dim = 4};
  hp::diffusion_block<>{.attention = heads, .feed_forward = {.width = 16}}(a.m, a.x);
  hp::transformer_block<hp::attention_layer, hp::swiglu_layer>{.attention = heads, .feed_forward = {.width = 16}}(b.m,
                                                                                                                  b.x);
  ASSERT_EQ(mistake(a.m.graph), "ok 0 0");
  EXPECT_EQ(operators(a.m.graph), operators(b.m.graph));
  EXPECT_EQ(hp::parameter_count(a.m.graph), hp::parameter_count(b.m.graph));
  EXPECT_EQ(operator_called(a.m.graph, "attention.attend").integer[0], 0);
  EXPECT_EQ(operator_called(b.m.graph, "attention.attend").integer[0], 1);
}

TEST(DiffusionBlock, TheConditionScalesShiftsAndGates) {
  token_graph g(2, 3, 8);
  const int time = g.m.input("time", {g.batch, g.m.dim("condition", 5)});
  const int y = hp::diffusion_block<>{.attention = {.query_heads = 2, .key_heads = 2, .head_dim = 4},
                                      .feed_forward = {.width = 16}}(g.m, g.x, time);
  ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
  EXPECT_EQ(described(g.m.graph, y), "feed_forward_residual (batch 2, seq 3, hidden 8)");
  EXPECT_EQ(hp::parameter_count(g.m.graph), 2 * 8 + 4 * 8 * 8 + 3 * 8 * 16 + 6 * 5 * 8);
  EXPECT_EQ(described(g.m.graph, "attention_scale.repeated"), "attention_scale.repeated (batch 2, seq 3, hidden 8)");

  const hp::graph_operator& shifted = operator_called(g.m.graph, "attention_shifted");
  ASSERT_EQ(shifted.operand_count, 3);
  const char* expected[] = {"attention_norm", "attention_scaled", "attention_shift.repeated"};
  for (int i = 0; i < 3; ++i) EXPECT_STREQ(g.m.graph.name_of_tensor(shifted.operand[i]), expected[i]);
  const hp::graph_operator& query = operator_called(g.m.graph, "attention.query");
  EXPECT_STREQ(g.m.graph.name_of_tensor(query.operand[0]), "attention_shifted");
  const hp::graph_operator& gated = operator_called(g.m.graph, "feed_forward_gated");
  EXPECT_STREQ(g.m.graph.name_of_tensor(gated.operand[0]), "feed_forward.down");
  EXPECT_STREQ(g.m.graph.name_of_tensor(gated.operand[1]), "feed_forward_gate.repeated");
  const hp::graph_operator& sum = operator_called(g.m.graph, "attention_residual");
  EXPECT_EQ(sum.operand[0], g.x) << "with gates of zero the block is the identity";
  EXPECT_STREQ(g.m.graph.name_of_tensor(sum.operand[1]), "attention_gated");
}

TEST(DiffusionBlock, MisuseIsReported) {
  token_graph g(2, 3, 8);
  EXPECT_EQ(hp::diffusion_block<>{}(g.m, g.x, -1), -1);
  EXPECT_EQ(mistake(g.m.graph), "operand_does_not_exist diffusion_block 0 0");
}

}  // namespace
