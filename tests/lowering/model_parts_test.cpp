// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/model_parts.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../../examples/models/captioner.hpp"
#include "../../examples/models/deepseek_v3.hpp"
#include "search/search_models.hpp"

namespace {

namespace hp = hyperparallel;

std::vector<std::string> described(const hp::graph& g) {
  std::vector<std::string> text;
  for (const hp::model_part& p : hp::detail::find_parts(g).part)
    text.push_back(std::string(g.name_of_op(p.first)) + " to " + g.name_of_op(p.last));
  return text;
}

TEST(ModelParts, BlocksOfATransformer) {
  const searched::small_model m{.layers = 2, .wide_layers = 3, .experts = 4};
  EXPECT_EQ(described(m.build()),
            (std::vector<std::string>{
                "embedding to embedding", "layers.0-1.attention_norm to layers.0-1.attention_residual",
                "layers.0-1.feed_forward_norm to layers.0-1.feed_forward_residual",
                "wide.0-2.attention_norm to wide.0-2.attention_residual",
                "wide.0-2.feed_forward_norm to wide.0-2.feed_forward_residual", "head.norm to head.cross_entropy"}));
}

TEST(ModelParts, WrittenOutLayersAreParts) {
  const searched::small_model m{.layers = 3, .unrolled = true};
  EXPECT_EQ(described(m.build()).size(), 2u + 2 * 3);
}

TEST(ModelParts, WhatSharesMoreThanAJointIsOnePart) {
  hp::model_builder m;
  models::captioner<models::captioner_sizes{2, 9, 5, 7}>::build(m);
  hp::differentiate(m.graph);
  const hp::model_parts parts = hp::detail::find_parts(m.graph);
  for (const int p : parts.of_op) {
    EXPECT_GE(p, 0);
    EXPECT_LT(p, parts.part.size);
  }
  // A table read at both ends ties them together.
  hp::model_builder tied;
  const int b = tied.dim("batch", 4), s = tied.dim("seq", 8), v = tied.dim("vocab", 16), h = tied.dim("hidden", 8);
  const int ids = tied.index_input("ids", {b, s}), table = tied.parameter("table", {v, h});
  int x = tied.apply<hp::ops::embed>("embed", {ids, table});
  x = tied.sum("twice", x, tied.apply<hp::ops::silu>("branch", {x}));
  const int y = tied.contract("logits", "bsh,vh->bsv", x, table);
  tied.loss(tied.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  EXPECT_EQ(hp::detail::find_parts(tied.graph).part.size, 1);
}

TEST(ModelParts, EveryOperatorAndTensorBelongsToOne) {
  std::mt19937 random(7);
  for (int i = 0; i < 30; ++i) {
    const hp::graph g = searched::random_model(random, i % 2 == 0).build();
    const hp::model_parts parts = hp::detail::find_parts(g);
    for (int o = 0; o < g.op.size; ++o) {
      ASSERT_GE(parts.of_op[o], 0) << g.name_of_op(o);
      ASSERT_LT(parts.of_op[o], parts.part.size) << g.name_of_op(o);
      const hp::graph_operator& op = g.op[o];
      if (op.forward >= 0) {
        EXPECT_EQ(parts.of_op[o], parts.of_op[op.forward]) << g.name_of_op(o);
      }
      if (op.phase != hp::graph_phase::forward) continue;
      // Forward, a part reads what it makes and the joint before it.
      for (int k = 0; k < op.operand_count; ++k) {
        const int t = op.operand[k];
        if (g.tensor[t].producer < 0 || g.op[g.tensor[t].producer].phase != hp::graph_phase::forward) continue;
        const int from = parts.of_op[g.tensor[t].producer];
        EXPECT_TRUE(from == parts.of_op[o] || (from + 1 == parts.of_op[o] && parts.joint[t] == from))
            << g.name_of_op(o);
      }
    }
    for (int t = 0; t < g.tensor.size; ++t) {
      ASSERT_GE(parts.of_tensor[t], 0) << g.name_of_tensor(t);
      if (g.tensor[t].kind == hp::graph_tensor_kind::state && g.tensor[t].source >= 0) {
        EXPECT_EQ(parts.of_tensor[t], parts.of_tensor[g.tensor[t].source]) << g.name_of_tensor(t);
      }
    }
  }
}

}  // namespace
