// SPDX-License-Identifier: Apache-2.0
#include "described.hpp"

#include <gtest/gtest.h>

#include <hyperparallel/layers/layer_input.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

TEST(LayerInput, NamesTheDimsOfTokens) {
  token_graph g(2, 3, 4);
  const hp::token_dims d = hp::detail::token_dims_of(g.m, "layer", g.x);
  EXPECT_TRUE(d.valid);
  EXPECT_EQ(d.batch, g.batch);
  EXPECT_EQ(d.sequence, g.sequence);
  EXPECT_EQ(d.hidden, g.hidden);
  for (int back = 0; back < 3; ++back) EXPECT_EQ(hp::dim_from_end(g.m, g.x, back), g.m.graph.tensor[g.x].dim[2 - back]);
  EXPECT_EQ(g.m.graph.status.code, hp::graph_code::ok);
}

TEST(LayerInput, RanksAreEnoughOrAMistake) {
  for (int rank = 0; rank <= 6; ++rank) {
    token_graph g(2, 3, 4);
    EXPECT_EQ(hp::has_rank(g.m, "layer", g.x, rank), rank <= 3) << rank;
    if (rank > 3)
      EXPECT_EQ(mistake(g.m.graph), "rank_differs_from_text layer x 3 " + std::to_string(rank));
    else
      EXPECT_EQ(g.m.graph.status.code, hp::graph_code::ok);
  }
  token_graph g(2, 3, 4);
  const int wide = g.m.input("wide", {g.batch, g.sequence, g.hidden, g.hidden});
  EXPECT_FALSE(hp::detail::token_dims_of(g.m, "layer", wide).valid);
  EXPECT_EQ(mistake(g.m.graph), "rank_differs_from_text layer wide 4 3");
}

TEST(LayerInput, NoTensorIsAMistakeOfTheScopedLayer) {
  for (const int wrong : {-1, 1, 1000}) {
    token_graph g(2, 3, 4);
    g.m.scope("outer", [&] { return hp::detail::token_dims_of(g.m, "layer", wrong).valid; });
    EXPECT_EQ(mistake(g.m.graph), "operand_does_not_exist outer.layer 0 0");
  }
}

}  // namespace
