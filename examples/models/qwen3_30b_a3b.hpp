// SPDX-License-Identifier: Apache-2.0
#pragma once
// Qwen3-30B-A3B: 48 blocks of grouped-query attention (32 query, 4 key heads, each normalised) and a mixture of 128
// experts of which a token takes 8; 30 532 122 624 parameters, of which some 3 billion work for a token.
//
// Values of the published configuration (Qwen/Qwen3-30B-A3B, config.json). Experts have room for their even share of
// the tokens, which is what a run without dropping computes on average; the auxiliary loss is left out.

#include <hyperparallel/layers.hpp>

namespace models {

namespace hp = hyperparallel;

template <hp::extent_t Batch, hp::extent_t Sequence>
struct qwen3_30b_a3b {
  static constexpr hp::extent_t layers = 48, hidden = 2048, vocabulary = 151936;

  static constexpr void build(hp::model_builder& m) { build(m, Batch, Sequence); }
  /// The same model for sizes that only run time knows.
  static constexpr void build(hp::model_builder& m, hp::extent_t batch_size, hp::extent_t sequence_length) {
    const int batch = m.dim("batch", batch_size), sequence = m.dim("seq", sequence_length);
    const int tokens = m.index_input("tokens", {batch, sequence});
    const int labels = m.index_input("labels", {batch, sequence});
    const hp::transformer_block<hp::attention_layer, hp::mixture_of_experts> block{
        .attention = {.query_heads = 32, .key_heads = 4, .head_dim = 128, .rope_base = 1e6, .query_key_norm = true},
        .feed_forward = {.experts = 128, .top_k = 8, .width = 768}};
    int x = hp::token_embedding{.vocabulary = vocabulary, .hidden = hidden}(m, tokens);
    x = m.repeat("layers", layers, x, block);
    hp::language_head{.vocabulary = vocabulary}(m, x, labels);
  }
};

}  // namespace models
