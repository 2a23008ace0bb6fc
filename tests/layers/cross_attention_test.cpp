// SPDX-License-Identifier: Apache-2.0
#include "described.hpp"

#include <gtest/gtest.h>

#include <hyperparallel/layers/cross_attention.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

TEST(CrossAttention, TakesKeysAndValuesFromElsewhere) {
  token_graph g(2, 3, 16);
  const int context = g.m.input("image", {g.batch, g.m.dim("patches", 5), g.m.dim("image_hidden", 7)});
  const int y = hp::cross_attention_layer{"image_attention", 4, 2, 8}(g.m, g.x, context);
  EXPECT_EQ(described(g.m.graph, y), "image_attention.output (batch 2, seq 3, hidden 16)");
  EXPECT_EQ(described(g.m.graph, hp::graph_tensor_kind::parameter),
            (strings{"image_attention.query.weight (hidden 16, key_heads 2, query_group 2, head_dim 8)",
                     "image_attention.key.weight (image_hidden 7, key_heads 2, head_dim 8)",
                     "image_attention.value.weight (image_hidden 7, key_heads 2, head_dim 8)",
                     "image_attention.output.weight (key_heads 2, query_group 2, head_dim 8, hidden 16)"}));
  EXPECT_EQ(described(g.m.graph, "image_attention.key"),
            "image_attention.key (batch 2, patches 5, key_heads 2, head_dim 8)");
  const hp::graph_operator& attend = operator_called(g.m.graph, "image_attention.attend");
  EXPECT_EQ(attend.integer[0], 0) << "no mask";
  EXPECT_EQ(g.m.graph.status.code, hp::graph_code::ok);
}

TEST(CrossAttention, TheContextHasTheSameBatch) {
  token_graph g(2, 3, 16);
  const int context = g.m.input("image", {g.m.dim("other_batch", 4), g.sequence, g.hidden});
  EXPECT_LT((hp::cross_attention_layer{"look", 4, 2, 8}(g.m, g.x, context)), 0);
  EXPECT_EQ(mistake(g.m.graph), "dim_differs_between_operands look.attend look.key 4 2");
  token_graph none(2, 3, 16);
  EXPECT_EQ((hp::cross_attention_layer{"look", 4, 2, 8}(none.m, none.x, -1)), -1);
  EXPECT_EQ(mistake(none.m.graph), "operand_does_not_exist look 0 0");
}

}  // namespace
