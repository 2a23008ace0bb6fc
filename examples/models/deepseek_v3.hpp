// SPDX-License-Identifier: Apache-2.0
#pragma once
// DeepSeek-V3 without its multi-token prediction module: 3 dense and 58 mixture-of-experts blocks with multi-head
// latent attention; each token takes 8 of 256 routed experts and a shared one. 671 026 404 352 parameters, and 58 · 256
// numbers of load-balancing bias, which are states: 671 026 419 200 together.
//
// Values of the published configuration (deepseek-ai/DeepSeek-V3, config.json). Experts have room for their even share
// of the tokens, which is what a run without dropping computes on average. Left out: the limit of a token's experts to
// four of eight groups, the sequence-wise auxiliary loss, and YaRN, which is of longer contexts than the training's.

#include <hyperparallel/layers.hpp>

namespace models {

namespace hp = hyperparallel;

template <hp::extent_t Batch, hp::extent_t Sequence>
struct deepseek_v3 {
  static constexpr hp::extent_t dense_layers = 3, moe_layers = 58, hidden = 7168, vocabulary = 129280;
  static constexpr hp::latent_attention_layer attention{.heads = 128,
                                                        .head_dim = 128,
                                                        .rope_dim = 64,
                                                        .value_dim = 128,
                                                        .query_rank = 1536,
                                                        .key_value_rank = 512,
                                                        .rope_base = 10000.0};
  static constexpr hp::mixture_of_experts experts{.experts = 256,
                                                  .top_k = 8,
                                                  .width = 2048,
                                                  .shared_width = 2048,
                                                  .scores = hp::expert_scores::sigmoid,
                                                  .weight_scale = 2.5};

  static constexpr void build(hp::model_builder& m) { build(m, Batch, Sequence); }
  /// The same model for sizes that only run time knows.
  static constexpr void build(hp::model_builder& m, hp::extent_t batch_size, hp::extent_t sequence_length) {
    const int batch = m.dim("batch", batch_size), sequence = m.dim("seq", sequence_length);
    const int tokens = m.index_input("tokens", {batch, sequence});
    const int labels = m.index_input("labels", {batch, sequence});
    int x = hp::token_embedding{.vocabulary = vocabulary, .hidden = hidden}(m, tokens);
    x = m.repeat("dense_layers", dense_layers, x,
                 hp::transformer_block<hp::latent_attention_layer, hp::swiglu_layer>{.attention = attention,
                                                                                     .feed_forward = {.width = 18432}});
    x = m.repeat("layers", moe_layers, x,
                 hp::transformer_block<hp::latent_attention_layer, hp::mixture_of_experts>{.attention = attention,
                                                                                           .feed_forward = experts});
    hp::language_head{.vocabulary = vocabulary}(m, x, labels);
  }
};

}  // namespace models
