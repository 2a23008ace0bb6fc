// SPDX-License-Identifier: Apache-2.0
#include "described.hpp"

#include <gtest/gtest.h>

#include <hyperparallel/layers/linear.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

TEST(Linear, ContractsTheLastDimsIntoAnyOthers) {
  // Every number of contracted dims against every number of outputs: loops, shapes and parameters in closed form.
  const char* names[] = {"one", "two", "three", "four"};
  for (int contracted = 1; contracted <= 3; ++contracted) {
    for (int outputs = 0; outputs <= 4; ++outputs) {
      token_graph g(2, 3, 5);
      hp::linear_layer layer{"map", {}, contracted};
      hp::extent_t weights = 1, results = 1;
      for (int d = 0; d < outputs; ++d) {
        layer.output.item[layer.output.count++] = g.m.dim(names[d], d + 2);
        weights *= d + 2;
        results *= d + 2;
      }
      const hp::extent_t extents[] = {2, 3, 5};
      for (int d = 0; d < 3; ++d) (d < 3 - contracted ? results : weights) *= extents[d];
      const int y = layer(g.m, g.x);
      ASSERT_EQ(g.m.graph.status.code, hp::graph_code::ok) << contracted << " " << outputs;
      EXPECT_EQ(hp::parameter_count(g.m.graph), weights);
      EXPECT_EQ(hp::elements_of(g.m.graph.tensor[y]), results);
      const hp::graph_operator& o = g.m.graph.op[0];
      EXPECT_EQ(o.loop_count, 3 + outputs);
      int reduced = 0;
      for (int l = 0; l < o.loop_count; ++l) {
        EXPECT_FALSE(hp::detail::is_whole(g.m.graph.rule_of(o), l));
        reduced += hp::has_factor(g.m.graph.rule_of(o).result[0], l) ? 0 : 1;
      }
      EXPECT_EQ(reduced, contracted);
    }
  }
}

TEST(Linear, NamesItsWeight) {
  token_graph g(2, 3, 4);
  const int heads = g.m.dim("key_heads", 2), group = g.m.dim("query_group", 3), width = g.m.dim("head_dim", 8);
  const int query = hp::linear_layer{"query", {heads, group, width}}(g.m, g.x);
  const int back = hp::linear_layer{"output", {g.hidden}, 3}(g.m, query);
  EXPECT_EQ(described(g.m.graph, query), "query (batch 2, seq 3, key_heads 2, query_group 3, head_dim 8)");
  EXPECT_EQ(described(g.m.graph, "query.weight"), "query.weight (hidden 4, key_heads 2, query_group 3, head_dim 8)");
  EXPECT_EQ(described(g.m.graph, back), "output (batch 2, seq 3, hidden 4)");
  EXPECT_EQ(described(g.m.graph, "output.weight"), "output.weight (key_heads 2, query_group 3, head_dim 8, hidden 4)");
}

TEST(Linear, AddsABiasOfItsOutputDims) {
  token_graph g(2, 3, 4);
  const int heads = g.m.dim("key_heads", 2), width = g.m.dim("head_dim", 8);
  const int y = hp::linear_layer{.name = "key", .output = {heads, width}, .bias = true}(g.m, g.x);
  hp::linear_layer{.name = "number", .contracted = 4, .bias = true}(g.m, y);
  ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
  EXPECT_EQ(described(g.m.graph, y), "key (batch 2, seq 3, key_heads 2, head_dim 8)");
  EXPECT_EQ(described(g.m.graph, "key.bias"), "key.bias (key_heads 2, head_dim 8)");
  EXPECT_EQ(described(g.m.graph, "number.bias"), "number.bias ()");
  EXPECT_EQ(operators(g.m.graph), (strings{"contract key", "add_bias key", "contract number", "add_bias number"}));
}

TEST(Linear, MisuseIsReported) {
  token_graph g(2, 3, 4);
  EXPECT_EQ((hp::linear_layer{"map", {g.hidden}, 4}(g.m, g.x)), -1);
  EXPECT_EQ(mistake(g.m.graph), "rank_differs_from_text map x 3 4");
  token_graph h(2, 3, 4);
  hp::linear_layer wide{"wide"};
  wide.output.count = hp::max_dims;
  EXPECT_EQ(wide(h.m, h.x), -1);
  EXPECT_EQ(h.m.graph.status.code, hp::graph_code::too_many_loops);
  token_graph twice(2, 3, 4);
  hp::linear_layer{"same", {twice.hidden}}(twice.m, twice.x);
  hp::linear_layer{"same", {twice.hidden}}(twice.m, twice.x);
  EXPECT_EQ(mistake(twice.m.graph), "name_is_used_twice same.weight 0 0");
}

}  // namespace
