// SPDX-License-Identifier: Apache-2.0
#include "described.hpp"

#include <gtest/gtest.h>

#include <hyperparallel/layers/convolution.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

TEST(ConvolutionLayer, MakesNamedTensorsInOneToThreeDims) {
  hp::model_builder m;
  const int batch = m.dim("batch", 2), in = m.dim("in", 3), out = m.dim("out", 5);
  const int p = m.dim("p", 9), q = m.dim("q", 8), r = m.dim("r", 7);
  const int line = m.input("line", {batch, in, p}), plane = m.input("plane", {batch, in, p, q});
  const int space = m.input("space", {batch, in, p, q, r});
  EXPECT_EQ(described(m.graph, hp::convolution_layer{.name = "one", .output = out}(m, line)),
            "one (batch 2, out 5, one.positions 7)");
  EXPECT_EQ(
      described(m.graph, hp::convolution_layer{.name = "two", .output = out, .stride = 2, .padding = 1}(m, plane)),
      "two (batch 2, out 5, two.positions 5, two.positions.1 4)");
  EXPECT_EQ(described(m.graph, hp::convolution_layer{.name = "three", .output = out, .taps = 2}(m, space)),
            "three (batch 2, out 5, three.positions 8, three.positions.1 7, three.positions.2 6)");
  EXPECT_EQ(described(m.graph, "two.weight"), "two.weight (out 5, in 3, two.taps 3, two.taps.1 3)");
  EXPECT_EQ(mistake(m.graph), "ok 0 0");
  // Batch and channels may be sharded, the input's are summed.
  const hp::factor_rule& rule = m.graph.rule_of(operator_called(m.graph, "two"));
  EXPECT_FALSE(hp::detail::is_whole(rule, rule.operand[0].term[0]) ||
               hp::detail::is_whole(rule, rule.result[0].term[1]));
  EXPECT_EQ(rule.factor[rule.operand[0].term[1]].op, hp::reduce_op::sum);
  EXPECT_TRUE(hp::detail::is_whole(rule, rule.operand[0].term[2]) &&
              hp::detail::is_whole(rule, rule.result[0].term[2]));
}

TEST(ConvolutionLayer, AddsABiasToEachChannel) {
  hp::model_builder m;
  const int plane = m.input("plane", {m.dim("batch", 2), m.dim("in", 3), m.dim("p", 9), m.dim("q", 8)});
  const hp::convolution_layer layer{.name = "two", .output = m.dim("out", 5), .bias = true};
  EXPECT_EQ(described(m.graph, layer(m, plane)), "two (batch 2, out 5, two.positions 7, two.positions.1 6)");
  EXPECT_EQ(described(m.graph, "two.bias"), "two.bias (out 5)");
  EXPECT_EQ(operators(m.graph), (strings{"convolution two", "add_bias two"}));
  EXPECT_EQ(mistake(m.graph), "ok 0 0");
}

TEST(ConvolutionLayer, MisuseIsReported) {
  token_graph g(2, 3, 4);
  hp::convolution_layer{.name = "small", .output = g.hidden, .taps = 9}(g.m, g.x);
  EXPECT_EQ(mistake(g.m.graph), "dim_is_not_positive small.positions 0 0");
  EXPECT_EQ((hp::convolution_layer{.output = g.hidden}(g.m, -1)), -1);
  const auto refused = [](hp::convolution_layer layer) {
    token_graph one(2, 3, 4);
    layer.output = one.hidden;
    EXPECT_EQ(layer(one.m, one.x), -1);
    return mistake(one.m.graph);
  };
  EXPECT_EQ(refused({.name = "still", .stride = 0}), "attribute_is_out_of_range still stride 0 1");
  EXPECT_EQ(refused({.name = "cut", .padding = -1}), "attribute_is_out_of_range cut padding -1 0");
}

}  // namespace
