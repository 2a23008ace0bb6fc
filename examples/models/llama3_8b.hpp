// SPDX-License-Identifier: Apache-2.0
#pragma once
// Llama 3 8B: 32 dense blocks of grouped-query attention (32 query, 8 key heads) and SwiGLU; 8 030 261 248 parameters.
//
// Values of the published configuration (meta-llama/Meta-Llama-3-8B, config.json). The blocks are one repeated segment.

#include <hyperparallel/layers.hpp>

namespace models {

namespace hp = hyperparallel;

template <hp::extent_t Batch, hp::extent_t Sequence>
struct llama3_8b {
  static constexpr hp::extent_t layers = 32, hidden = 4096, vocabulary = 128256;
  static constexpr double epsilon = 1e-5;

  static constexpr void build(hp::model_builder& m) { build(m, Batch, Sequence); }
  /// The same model for sizes that only run time knows.
  static constexpr void build(hp::model_builder& m, hp::extent_t batch_size, hp::extent_t sequence_length) {
    const int batch = m.dim("batch", batch_size), sequence = m.dim("seq", sequence_length);
    const int tokens = m.index_input("tokens", {batch, sequence});
    const int labels = m.index_input("labels", {batch, sequence});
    const hp::transformer_block<hp::attention_layer, hp::swiglu_layer> block{
        .attention = {.query_heads = 32, .key_heads = 8, .head_dim = 128, .rope_base = 500000.0},
        .feed_forward = {.width = 14336},
        .epsilon = epsilon};
    int x = hp::token_embedding{.vocabulary = vocabulary, .hidden = hidden}(m, tokens);
    x = m.repeat("layers", layers, x, block);
    hp::language_head{.vocabulary = vocabulary, .epsilon = epsilon}(m, x, labels);
  }
};

}  // namespace models
