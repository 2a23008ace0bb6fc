// SPDX-License-Identifier: Apache-2.0
#include "described.hpp"

#include <gtest/gtest.h>

#include <hyperparallel/layers/feed_forward.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

TEST(FeedForward, MakesNamedTensors) {
  token_graph g(2, 3, 4);
  const int y = hp::swiglu_layer{.width = 10}(g.m, g.x);
  EXPECT_EQ(described(g.m.graph, y), "feed_forward.down (batch 2, seq 3, hidden 4)");
  EXPECT_EQ(described(g.m.graph, hp::graph_tensor_kind::parameter),
            (strings{"feed_forward.gate.weight (hidden 4, ffn 10)", "feed_forward.up.weight (hidden 4, ffn 10)",
                     "feed_forward.down.weight (ffn 10, hidden 4)"}));
  EXPECT_EQ(operators(g.m.graph), (strings{"contract feed_forward.gate", "contract feed_forward.up",
                                           "swiglu feed_forward.activation", "contract feed_forward.down"}));
  // The gate's product is the first operand of the activation, so silu is of the gate.
  EXPECT_STREQ(g.m.graph.name_of_tensor(g.m.graph.op[2].operand[0]), "feed_forward.gate");
  EXPECT_EQ(mistake(g.m.graph), "ok 0 0");
}

TEST(FeedForward, WidthsOfTwoSizesNeedTwoDims) {
  token_graph g(2, 3, 4);
  hp::swiglu_layer{.name = "first", .width = 10}(g.m, g.x);
  hp::swiglu_layer{.name = "second", .width = 12, .width_dim = "wide"}(g.m, g.x);
  EXPECT_EQ(mistake(g.m.graph), "ok 0 0");
  EXPECT_EQ(hp::parameter_count(g.m.graph), 3 * 4 * (10 + 12));
  hp::swiglu_layer{.name = "third", .width = 12}(g.m, g.x);
  EXPECT_EQ(mistake(g.m.graph), "dim_has_two_extents ffn 12 10");
  EXPECT_EQ(hp::swiglu_layer{}(g.m, -1), -1);
}

TEST(FeedForward, EveryMapMayHaveABias) {
  token_graph g(2, 3, 4);
  hp::swiglu_layer{.name = "gated", .width = 10, .bias = true}(g.m, g.x);
  hp::gelu_layer{.name = "plain", .width = 10, .bias = true}(g.m, g.x);
  ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
  EXPECT_EQ(hp::parameter_count(g.m.graph), 5 * 4 * 10 + 3 * 10 + 2 * 4);
  for (const char* name : {"gated.gate.bias", "gated.up.bias", "plain.up.bias"})
    EXPECT_EQ(described(g.m.graph, name), name + std::string(" (ffn 10)"));
  for (const char* name : {"gated.down.bias", "plain.down.bias"})
    EXPECT_EQ(described(g.m.graph, name), name + std::string(" (hidden 4)"));
}

TEST(FeedForward, ActivationsAreThoseOfTheLayer) {
  token_graph g(2, 3, 4);
  hp::geglu_layer{.name = "gated", .width = 10}(g.m, g.x);
  hp::gelu_tanh_layer{.name = "plain", .width = 10}(g.m, g.x);
  EXPECT_EQ(operators(g.m.graph),
            (strings{"contract gated.gate", "contract gated.up", "geglu gated.activation", "contract gated.down",
                     "contract plain.up", "gelu_tanh plain.activation", "contract plain.down"}));
  EXPECT_EQ(mistake(g.m.graph), "ok 0 0");
}

TEST(FeedForward, WithGeluHasTwoWeights) {
  token_graph g(2, 3, 4);
  EXPECT_EQ(described(g.m.graph, hp::gelu_layer{.width = 10}(g.m, g.x)),
            "feed_forward.down (batch 2, seq 3, hidden 4)");
  EXPECT_EQ(operators(g.m.graph),
            (strings{"contract feed_forward.up", "gelu feed_forward.activation", "contract feed_forward.down"}));
}

}  // namespace
