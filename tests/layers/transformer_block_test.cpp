// SPDX-License-Identifier: Apache-2.0
#include "described.hpp"

#include <gtest/gtest.h>

#include <hyperparallel/layers/attention.hpp>
#include <hyperparallel/layers/feed_forward.hpp>
#include <hyperparallel/layers/transformer_block.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/strategy/strategies.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

using dense_block = hp::transformer_block<hp::attention_layer, hp::swiglu_layer>;

TEST(TransformerBlock, AddsEachLayerToItsInput) {
  token_graph g(2, 3, 8);
  const dense_block block{
      .attention = {.query_heads = 2, .key_heads = 2, .head_dim = 4}, .feed_forward = {.width = 16}, .epsilon = 1e-5};
  const int y = block(g.m, g.x);
  ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
  EXPECT_EQ(described(g.m.graph, y), "feed_forward_residual (batch 2, seq 3, hidden 8)");
  const hp::graph_operator& first = operator_called(g.m.graph, "attention_residual");
  EXPECT_EQ(first.operand[0], g.x);
  EXPECT_STREQ(g.m.graph.name_of_tensor(first.operand[1]), "attention.output");
  const hp::graph_operator& second = operator_called(g.m.graph, "feed_forward_residual");
  EXPECT_EQ(second.operand[0], first.result[0]);
  EXPECT_STREQ(g.m.graph.name_of_tensor(second.operand[1]), "feed_forward.down");
  EXPECT_EQ(operator_called(g.m.graph, "attention_norm").operand[0], g.x);
  EXPECT_EQ(operator_called(g.m.graph, "feed_forward_norm").operand[0], first.result[0]);
  EXPECT_EQ(operator_called(g.m.graph, "feed_forward_norm").real[0], 1e-5);
}

TEST(TransformerBlock, FoldedCountsAsUnrolled) {
  const dense_block block{.attention = {.query_heads = 2, .key_heads = 1, .head_dim = 4},
                          .feed_forward = {.width = 16}};
  for (int layers = 0; layers <= 12; ++layers) {
    hp::extent_t parameters[2] = {};
    for (const bool unrolled : {false, true}) {
      hp::model_builder m({.unrolled = unrolled});
      const int x = m.input("x", {m.dim("batch", 2), m.dim("seq", 3), m.dim("hidden", 8)});
      const int y = m.repeat("layers", layers, x, block);
      ASSERT_EQ(m.graph.status.code, hp::graph_code::ok);
      EXPECT_EQ(m.graph.tensor[y].shape, m.graph.tensor[x].shape);
      EXPECT_EQ(m.graph.segment.size, !unrolled && layers > 1 ? 1 : 0);
      parameters[unrolled ? 1 : 0] = hp::parameter_count(m.graph);
    }
    EXPECT_EQ(parameters[0], layers * (2 * 8 + 8 * 4 * (2 + 1 + 1 + 2) + 3 * 8 * 16));
    EXPECT_EQ(parameters[1], parameters[0]);
  }
}

TEST(ParallelBlock, AddsBothLayersToItsInput) {
  for (const bool two : {false, true}) {
    token_graph g(2, 3, 8);
    const hp::parallel_block<hp::attention_layer, hp::gelu_layer> block{
        .attention = {.query_heads = 2, .key_heads = 2, .head_dim = 4},
        .feed_forward = {.width = 16},
        .epsilon = 1e-5,
        .two_norms = two};
    const int y = block(g.m, g.x);
    ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
    EXPECT_EQ(described(g.m.graph, y), "residual (batch 2, seq 3, hidden 8)");
    const hp::graph_operator& sum = operator_called(g.m.graph, "residual");
    ASSERT_EQ(sum.operand_count, 3);
    EXPECT_EQ(sum.operand[0], g.x);
    EXPECT_STREQ(g.m.graph.name_of_tensor(sum.operand[1]), "attention.output");
    EXPECT_STREQ(g.m.graph.name_of_tensor(sum.operand[2]), "feed_forward.down");
    const auto read_by = [&](const char* op) {
      return g.m.graph.name_of_tensor(operator_called(g.m.graph, op).operand[0]);
    };
    EXPECT_STREQ(read_by("attention.query"), two ? "attention_norm" : "norm");
    EXPECT_STREQ(read_by("feed_forward.up"), two ? "feed_forward_norm" : "norm");
    EXPECT_EQ(operator_called(g.m.graph, two ? "feed_forward_norm" : "norm").real[0], 1e-5);
    EXPECT_EQ(hp::parameter_count(g.m.graph), (two ? 2 : 1) * 8 + 4 * 8 * 8 + 2 * 8 * 16);
  }
}

/// Moves of tensors that wait for a sum in the forward phase of two blocks under tensor parallelism.
template <class Block>
int reductions(const Block& block) {
  hp::model_builder m({.unrolled = true});
  const int x = m.input("x", {m.dim("batch", 2), m.dim("seq", 4), m.dim("hidden", 8)});
  m.repeat("layers", 2, x, block);
  hp::strategy_value s;
  s.mesh.shape = {1, {2}};
  s.mesh.label[0] = "tp";
  hp::add_tensor_parallel(s, "tp");
  const hp::sharded_program p = hp::partition(m.graph, s);
  EXPECT_EQ(p.status.code, hp::strategy_code::ok);
  int count = 0;
  for (const hp::program_move& move : p.move) count += is_partial(p.value[move.source].layout) ? 1 : 0;
  return count + (is_partial(p.value[p.value.size - 1].layout) ? 1 : 0);
}

TEST(ParallelBlock, ReducesBothLayersAtOnce) {
  const hp::attention_layer attention{.query_heads = 2, .key_heads = 2, .head_dim = 4};
  hp::attention_layer biased = attention;
  biased.output_bias = true;
  const hp::swiglu_layer feed_forward{.width = 16};
  EXPECT_EQ(reductions(dense_block{attention, feed_forward}), 4);
  using side_by_side = hp::parallel_block<hp::attention_layer, hp::swiglu_layer>;
  EXPECT_EQ(reductions(side_by_side{attention, feed_forward}), 2);
  EXPECT_EQ(reductions(side_by_side{.attention = attention, .feed_forward = feed_forward, .two_norms = true}), 2);
  EXPECT_EQ(reductions(side_by_side{biased, feed_forward}), 4);
}

TEST(TransformerBlock, TheFirstMistakeOfAPartIsKept) {
  token_graph g(2, 3, 8);
  EXPECT_LT((dense_block{.attention = {.query_heads = 3, .key_heads = 2, .head_dim = 4}, .feed_forward = {.width = 16}}(
                g.m, g.x)),
            0);
  EXPECT_EQ(mistake(g.m.graph), "heads_do_not_divide attention 3 2");
}

}  // namespace
