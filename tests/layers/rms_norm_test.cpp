// SPDX-License-Identifier: Apache-2.0
#include "described.hpp"

#include <gtest/gtest.h>

#include <hyperparallel/layers/rms_norm.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

TEST(RmsNorm, NormalisesTheLastDimOfAnyRank) {
  token_graph g(2, 3, 4);
  const int y = hp::rms_norm_layer{"norm", 1e-5}(g.m, g.x);
  EXPECT_EQ(described(g.m.graph, y), "norm (batch 2, seq 3, hidden 4)");
  EXPECT_EQ(described(g.m.graph, "norm.weight"), "norm.weight (hidden 4)");
  EXPECT_EQ(g.m.graph.op[0].real[0], 1e-5);
  EXPECT_TRUE(hp::detail::is_whole(g.m.graph.rule_of(g.m.graph.op[0]), 2)) << "the mean needs the whole row";
  const int heads = g.m.input("heads", {g.batch, g.sequence, g.m.dim("key_heads", 2), g.m.dim("head_dim", 8)});
  EXPECT_EQ(described(g.m.graph, hp::rms_norm_layer{"key_norm"}(g.m, heads)),
            "key_norm (batch 2, seq 3, key_heads 2, head_dim 8)");
  EXPECT_EQ(hp::parameter_count(g.m.graph), 4 + 8);
  EXPECT_EQ(g.m.graph.status.code, hp::graph_code::ok);
}

TEST(RmsNorm, ANumberHasNoRow) {
  token_graph g(2, 3, 4);
  const int number = g.m.input("number", {});
  EXPECT_EQ(hp::rms_norm_layer{}(g.m, number), -1);
  EXPECT_EQ(mistake(g.m.graph), "rank_differs_from_text norm number 0 1");
}

}  // namespace
