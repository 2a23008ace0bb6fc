// SPDX-License-Identifier: Apache-2.0
#include "described.hpp"

#include <gtest/gtest.h>

#include <hyperparallel/layers/embedding.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

TEST(Embedding, OfTokens) {
  hp::model_builder m;
  const int ids = m.index_input("tokens", {m.dim("batch", 2), m.dim("seq", 3)});
  const int x = hp::token_embedding{.vocabulary = 256, .hidden = 4}(m, ids);
  EXPECT_EQ(described(m.graph, x), "embedding (batch 2, seq 3, hidden 4)");
  EXPECT_EQ(described(m.graph, "embedding.weight"), "embedding.weight (vocab 256, hidden 4)");
  const hp::graph_operator& o = m.graph.op[0];
  int reduced = 0;
  for (int l = 0; l < o.loop_count; ++l) {
    if (hp::has_factor(m.graph.rule_of(o).result[0], l)) continue;
    ++reduced;
    EXPECT_STREQ(m.graph.name_of_dim(o.loop[l].dim), "vocab");
    EXPECT_FALSE(hp::detail::is_whole(m.graph.rule_of(o), l)) << "the table's rows may be sharded";
  }
  EXPECT_EQ(reduced, 1);
  EXPECT_EQ(m.graph.status.code, hp::graph_code::ok);
}

TEST(Embedding, OfPositionsIsTheSameForEverySample) {
  token_graph g(2, 3, 4);
  const int y = hp::position_embedding{}(g.m, g.x);
  EXPECT_EQ(described(g.m.graph, y), "position (batch 2, seq 3, hidden 4)");
  EXPECT_EQ(operators(g.m.graph), (strings{"broadcast position.repeated", "sum position"}));
  EXPECT_EQ(hp::parameter_count(g.m.graph), 3 * 4);
  EXPECT_EQ(g.m.graph.tensor[g.m.graph.op[0].result[0]].shape.rank, 3);
  EXPECT_EQ(g.m.graph.status.code, hp::graph_code::ok);
}

TEST(Embedding, OfPositionsReadsTheFirstRowsOfALongerTable) {
  token_graph g(2, 3, 4);
  const int y = hp::position_embedding{.rows = 7}(g.m, g.x);
  EXPECT_EQ(described(g.m.graph, y), "position (batch 2, seq 3, hidden 4)");
  EXPECT_EQ(operators(g.m.graph), (strings{"slice position.read", "broadcast position.repeated", "sum position"}));
  EXPECT_EQ(hp::parameter_count(g.m.graph), 7 * 4);
  EXPECT_EQ(mistake(g.m.graph), "ok 0 0");
}

TEST(Embedding, MisuseIsReported) {
  hp::model_builder m;
  const int ids = m.index_input("tokens", {m.dim("batch", 2), m.dim("seq", 3)});
  hp::token_embedding{.vocabulary = 256, .hidden = 4}(m, ids);
  hp::token_embedding{.name = "other", .vocabulary = 255, .hidden = 4}(m, ids);
  EXPECT_EQ(mistake(m.graph), "dim_has_two_extents vocab 255 256");
  hp::model_builder n;
  EXPECT_EQ(hp::position_embedding{}(n, -1), -1);
  EXPECT_EQ(n.graph.status.code, hp::graph_code::operand_does_not_exist);
}

}  // namespace
