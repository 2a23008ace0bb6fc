// SPDX-License-Identifier: Apache-2.0
#include "described.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <hyperparallel/layers/linear_attention.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

TEST(LinearAttention, MakesNamedTensors) {
  token_graph g(2, 3, 16);
  const hp::linear_attention_layer layer{.key_heads = 2, .value_heads = 6, .key_dim = 4, .value_dim = 5};
  const int y = layer(g.m, g.x);
  ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
  EXPECT_EQ(described(g.m.graph, y), "linear_attention.output (batch 2, seq 3, hidden 16)");
  EXPECT_EQ(described(g.m.graph, hp::graph_tensor_kind::parameter),
            (strings{"linear_attention.query.weight (hidden 16, state_heads 2, state_key 4)",
                     "linear_attention.key.weight (hidden 16, state_heads 2, state_key 4)",
                     "linear_attention.value.weight (hidden 16, state_heads 2, state_group 3, state_value 5)",
                     "linear_attention.gate.weight (hidden 16, state_heads 2, state_group 3, state_value 5)",
                     "linear_attention.strength.weight (hidden 16, state_heads 2, state_group 3)",
                     "linear_attention.decay.weight (hidden 16, state_heads 2, state_group 3)",
                     "linear_attention.decay.bias (state_heads 2, state_group 3)",
                     "linear_attention.state.decay_log (state_heads 2, state_group 3)",
                     "linear_attention.state.query.taps (state_heads 2, state_key 4, taps 4)",
                     "linear_attention.state.key.taps (state_heads 2, state_key 4, taps 4)",
                     "linear_attention.state.value.taps (state_heads 2, state_group 3, state_value 5, taps 4)",
                     "linear_attention.norm.weight (state_value 5)",
                     "linear_attention.output.weight (state_heads 2, state_group 3, state_value 5, hidden 16)"}));
  const hp::graph_operator& attend = operator_called(g.m.graph, "linear_attention.state.attend");
  EXPECT_EQ(attend.integer[0], 1);
  EXPECT_DOUBLE_EQ(attend.real[0], 0.5);
  EXPECT_DOUBLE_EQ(attend.real[1], 1e-6);
}

TEST(LinearAttention, HeadsOfValuesShareThoseOfKeys) {
  for (const hp::extent_t values : {1, 3}) {
    token_graph g(2, 3, 16);
    EXPECT_EQ((hp::linear_attention_layer{.key_heads = 2, .value_heads = values}(g.m, g.x)), -1);
    EXPECT_EQ(mistake(g.m.graph), "heads_do_not_divide linear_attention " + std::to_string(values) + " 2");
  }
}

}  // namespace
