// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention from the tokens of one sequence to those of another: queries of x (batch, seq, hidden), keys and values of
// context (batch, any dim of positions, any hidden); -> (batch, seq, hidden). No mask, no rotation.
//
// Parameters as `attention_layer` has them. Source: Vaswani et al., "Attention is all you need", 2017, section 3.2.3.

#include <hyperparallel/layers/attention.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct cross_attention_layer {
  const char* name = "cross_attention";
  extent_t query_heads = 1;
  extent_t key_heads = 1;
  extent_t head_dim = 1;
  bool query_key_value_bias = false;
  bool output_bias = false;

  constexpr int operator()(model_builder& m, int x, int context) const {
    return attention_layer{.name = name,
                           .query_heads = query_heads,
                           .key_heads = key_heads,
                           .head_dim = head_dim,
                           .causal = false,
                           .query_key_value_bias = query_key_value_bias,
                           .output_bias = output_bias}
        .attend(m, x, context);
  }
};

}}  // namespace hyperparallel::v0_2
