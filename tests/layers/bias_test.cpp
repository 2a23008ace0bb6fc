// SPDX-License-Identifier: Apache-2.0
#include "described.hpp"

#include <gtest/gtest.h>

#include <hyperparallel/layers/bias.hpp>
#include <hyperparallel/layers/linear.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/strategy/strategies.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

TEST(Bias, IsAddedOverAnyDims) {
  for (int begin = 0; begin <= 3; ++begin) {
    for (int end = begin; end <= 3; ++end) {
      token_graph g(2, 3, 4);
      const int product = g.m.apply<hp::ops::scale>("layer", {g.x}, {.real = {2.0}});
      const int y = hp::with_bias(g.m, "layer", product, begin, end);
      ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
      EXPECT_EQ(described(g.m.graph, y), "layer (batch 2, seq 3, hidden 4)");
      EXPECT_EQ(described(g.m.graph, product), "layer.without_bias (batch 2, seq 3, hidden 4)");
      const hp::extent_t extents[] = {2, 3, 4};
      hp::extent_t elements = 1;
      for (int d = begin; d < end; ++d) elements *= extents[d];
      EXPECT_EQ(hp::parameter_count(g.m.graph), elements);
      EXPECT_EQ(g.m.graph.tensor[find_tensor(g.m.graph, "layer.bias")].shape.rank, end - begin);
      const hp::factor_rule& rule = g.m.graph.rule_of(g.m.graph.op[1]);
      EXPECT_EQ(rule.fixed | rule.reduced, 0u) << "every dim may be sharded";
    }
  }
  token_graph g(2, 3, 4);
  EXPECT_EQ(hp::with_bias(g.m, "layer", -1, 0, 1), -1);
}

TEST(Bias, IsAddedOverDimsThatAreNoNeighbours) {
  token_graph g(2, 3, 4);
  const int product = g.m.apply<hp::ops::scale>("layer", {g.x}, {.real = {2.0}});
  hp::with_bias(g.m, "layer", product, 0b101u);
  ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
  EXPECT_EQ(described(g.m.graph, "layer.bias"), "layer.bias (batch 2, hidden 4)");
}

/// Two linear maps with biases, the first column and the second row parallel by their names.
hp::sharded_program column_then_row(bool bias) {
  token_graph g(2, 3, 4);
  const int up = hp::linear_layer{.name = "up", .output = {g.m.dim("wide", 8)}, .bias = bias}(g.m, g.x);
  hp::linear_layer{.name = "down", .output = {g.hidden}, .bias = bias}(g.m, up);
  hp::strategy_value s;
  s.mesh.shape = {1, {2}};
  s.mesh.label[0] = "tp";
  hp::detail::add_column_parallel(s, "up", "tp");
  hp::detail::add_row_parallel(s, "down", "tp");
  return hp::partition(g.m.graph, s);
}

TEST(Bias, LiesAsTheOutputOfItsLayerAndIsAddedOnce) {
  const hp::sharded_program p = column_then_row(true);
  ASSERT_EQ(p.status.code, hp::strategy_code::ok);
  const auto home = [&](const char* name) { return p.value[p.home[find_tensor(p.graph, name)]].layout; };
  EXPECT_EQ(home("up.bias").cut_count, 1) << "sharded as the columns of the weight";
  EXPECT_EQ(home("down.bias").cut_count, 0);
  ASSERT_EQ(p.move.size, 1) << "the product of the second layer is reduced";
  EXPECT_STREQ(p.graph.name_of_tensor(p.value[p.move[0].source].tensor), "down.without_bias");
  for (const hp::program_compute& c : p.compute)
    for (int i = 0; i < p.graph.op[c.op].operand_count; ++i)
      EXPECT_FALSE(is_partial(p.value[c.operand[i]].layout)) << p.graph.name_of_op(c.op);
  EXPECT_EQ(column_then_row(false).move.size, 0) << "without a bias the result waits";
}

}  // namespace
