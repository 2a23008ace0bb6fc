// SPDX-License-Identifier: Apache-2.0
#include "described.hpp"

#include <gtest/gtest.h>

#include <hyperparallel/layers/dropout.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

TEST(Dropout, IsKeyedByItsNameAndSeed) {
  token_graph g(2, 3, 4);
  const int y = hp::dropout_layer{"first", 0.25, 7}(g.m, g.x);
  EXPECT_EQ(described(g.m.graph, y), "first (batch 2, seq 3, hidden 4)");
  const int inside = g.m.scope("layer", [&] { return hp::dropout_layer{"first", 0.25, 7}(g.m, y); });
  EXPECT_EQ(described(g.m.graph, inside), "layer.first (batch 2, seq 3, hidden 4)");
  const hp::graph_operator &first = g.m.graph.op[0], &second = g.m.graph.op[1];
  EXPECT_EQ(first.real[0], 0.25);
  EXPECT_EQ(first.integer[1], 7);
  EXPECT_NE(first.integer[0], second.integer[0]);
}

TEST(Dropout, OfRateZeroIsNothing) {
  token_graph g(2, 3, 4);
  EXPECT_EQ((hp::dropout_layer{.rate = 0}(g.m, g.x)), g.x);
  EXPECT_EQ(g.m.graph.op.size, 0);
}

TEST(Dropout, OfARateThatIsNoShareIsRefused) {
  for (const double rate : {1.0, 1.5, -0.1}) {
    token_graph g(2, 3, 4);
    EXPECT_EQ((hp::dropout_layer{"all", rate}(g.m, g.x)), -1);
    EXPECT_EQ(g.m.graph.status.code, hp::graph_code::dropout_rate_is_out_of_range);
    EXPECT_EQ(g.m.graph.status.number, rate);
  }
}

}  // namespace
