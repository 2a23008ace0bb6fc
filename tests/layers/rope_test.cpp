// SPDX-License-Identifier: Apache-2.0
#include "described.hpp"

#include <gtest/gtest.h>

#include <hyperparallel/layers/rope.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

TEST(Rope, KeepsTheShapeOfQueriesAndOfSharedKeys) {
  token_graph g(2, 3, 4);
  const int group = g.m.dim("query_group", 2), heads = g.m.dim("key_heads", 2), width = g.m.dim("head_dim", 8);
  for (const hp::number_list& dims : {hp::number_list{g.batch, g.sequence, width},
                                      {g.batch, g.sequence, heads, width},
                                      {g.batch, g.sequence, heads, group, width}}) {
    const std::string name = "q" + std::to_string(dims.count);
    const int x = g.m.input(name.c_str(), dims);
    const int y = hp::rotary_layer{"rotated", 5e5}(g.m, x);
    ASSERT_EQ(g.m.graph.status.code, hp::graph_code::ok);
    EXPECT_EQ(g.m.graph.tensor[y].shape, g.m.graph.tensor[x].shape);
    const hp::graph_operator& o = g.m.graph.op.last();
    EXPECT_EQ(o.kind, hp::id_of<hp::ops::rope>);
    EXPECT_EQ(o.real[0], 5e5);
    EXPECT_EQ(o.integer[0], 1);
    for (int l = 0; l < o.loop_count; ++l)
      EXPECT_EQ(hp::detail::is_whole(g.m.graph.rule_of(o), l), o.loop[l].dim == width)
          << "pairs are half a head apart; positions may be sharded";
  }
  EXPECT_EQ(hp::parameter_count(g.m.graph), 0);
}

TEST(Rope, NeedsPositions) {
  token_graph g(2, 3, 4);
  EXPECT_EQ(hp::rotary_layer{}(g.m, g.m.input("flat", {g.batch, g.hidden})), -1);
  EXPECT_EQ(mistake(g.m.graph), "rank_differs_from_text rotated flat 2 3");
}

}  // namespace
