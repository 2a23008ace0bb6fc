// SPDX-License-Identifier: Apache-2.0
#pragma once
// A masked diffusion language model: some tokens of a text are masked, and every position sees every other to guess
// them.
//
// Inputs: "tokens" (batch, seq), masked ones numbered `vocabulary - 1`; "labels" (batch, seq), negative where nothing
// is masked; "weights" (batch, seq), 1 / (share of masked tokens) of the sample; "time" (batch, condition), features of
// the share, which the blocks are conditioned on. Sources: Sahoo et al., "Simple and effective masked diffusion
// language models", 2024; Nie et al., "LLaDA", 2025.

#include <hyperparallel/layers.hpp>

namespace models {

namespace hp = hyperparallel;

template <hp::extent_t Batch, hp::extent_t Sequence>
struct masked_diffusion {
  static constexpr hp::extent_t layers = 12, hidden = 768, vocabulary = 32001, condition = 128;

  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", Batch), sequence = m.dim("seq", Sequence);
    const int tokens = m.index_input("tokens", {batch, sequence});
    const int labels = m.index_input("labels", {batch, sequence});
    const int weights = m.input("weights", {batch, sequence});
    const int time = m.input("time", {batch, m.dim("condition", condition)});
    const hp::diffusion_block<> block{
        .attention = {.query_heads = 12, .key_heads = 12, .head_dim = 64, .rope_base = 10000.0},
        .feed_forward = {.width = 2048}};
    int x = hp::token_embedding{.vocabulary = vocabulary, .hidden = hidden}(m, tokens);
    x = m.repeat("layers", layers, x, [&](hp::model_builder& b, int y) { return block(b, y, time); });
    hp::language_head{.vocabulary = vocabulary}(m, x, labels, weights);
  }
};

}  // namespace models
