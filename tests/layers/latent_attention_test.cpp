// SPDX-License-Identifier: Apache-2.0
#include "described.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <hyperparallel/layers/latent_attention.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

TEST(LatentAttention, MakesNamedTensors) {
  token_graph g(2, 3, 16);
  const hp::latent_attention_layer layer{
      .heads = 4, .head_dim = 6, .rope_dim = 2, .value_dim = 5, .query_rank = 12, .key_value_rank = 7};
  const int y = layer(g.m, g.x);
  ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
  EXPECT_EQ(described(g.m.graph, y), "attention.output (batch 2, seq 3, hidden 16)");
  EXPECT_EQ(
      described(g.m.graph, hp::graph_tensor_kind::parameter),
      (strings{"attention.query_down.weight (hidden 16, query_rank 12)", "attention.query_norm.weight (query_rank 12)",
               "attention.query_up.weight (query_rank 12, heads 4, head_dim 6)",
               "attention.query_rope.weight (query_rank 12, heads 4, rope_dim 2)",
               "attention.key_value_down.weight (hidden 16, key_value_rank 7)",
               "attention.key_value_norm.weight (key_value_rank 7)",
               "attention.key_up.weight (key_value_rank 7, heads 4, head_dim 6)",
               "attention.key_rope.weight (hidden 16, rope_dim 2)",
               "attention.value_up.weight (key_value_rank 7, heads 4, value_dim 5)",
               "attention.output.weight (heads 4, value_dim 5, hidden 16)"}));
  EXPECT_EQ(described(g.m.graph, "attention.key_rotated"), "attention.key_rotated (batch 2, seq 3, rope_dim 2)");
  EXPECT_EQ(described(g.m.graph, "attention.attend"), "attention.attend (batch 2, seq 3, heads 4, value_dim 5)");
}

TEST(LatentAttention, ScaleCountsTheRotaryPart) {
  token_graph g(1, 2, 4);
  hp::latent_attention_layer{.heads = 2, .head_dim = 128, .rope_dim = 64, .value_dim = 3, .score_factor = 1.5}(g.m,
                                                                                                               g.x);
  const hp::graph_operator& attend = operator_called(g.m.graph, "attention.attend");
  EXPECT_DOUBLE_EQ(attend.real[0], 1.5 / std::sqrt(192.0));
  EXPECT_EQ(attend.integer[0], 1);
}

TEST(LatentAttention, WithoutAQueryLatent) {
  token_graph g(2, 3, 16);
  hp::latent_attention_layer{.heads = 4, .head_dim = 6, .rope_dim = 2, .value_dim = 5, .key_value_rank = 7}(g.m, g.x);
  EXPECT_EQ(mistake(g.m.graph), "ok 0 0");
  EXPECT_EQ(described(g.m.graph, "attention.query_up.weight"),
            "attention.query_up.weight (hidden 16, heads 4, head_dim 6)");
  EXPECT_EQ(hp::parameter_count(g.m.graph), 16 * 4 * 8 + 16 * 7 + 7 + 7 * 4 * 11 + 16 * 2 + 4 * 5 * 16);
}

TEST(LatentAttention, BiasesOfWhatReadsXAndOfTheOutput) {
  token_graph g(2, 3, 16);
  hp::latent_attention_layer{
      .heads = 4, .head_dim = 6, .rope_dim = 2, .value_dim = 5, .query_rank = 12, .key_value_rank = 7, .bias = true}(
      g.m, g.x);
  ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
  strings biases;
  for (const std::string& p : described(g.m.graph, hp::graph_tensor_kind::parameter))
    if (p.find(".bias") != std::string::npos) biases.push_back(p);
  EXPECT_EQ(biases,
            (strings{"attention.query_down.bias (query_rank 12)", "attention.key_value_down.bias (key_value_rank 7)",
                     "attention.key_rope.bias (rope_dim 2)", "attention.output.bias (hidden 16)"}));
}

TEST(LatentAttention, MisuseIsReported) {
  token_graph g(2, 3, 16);
  EXPECT_EQ(hp::latent_attention_layer{}(g.m, -1), -1);
  EXPECT_EQ(mistake(g.m.graph), "operand_does_not_exist attention 0 0");
}

}  // namespace
