// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decoders of published checkpoints and small ones of each family, for tests.

#include <hyperparallel/layers/decoder.hpp>

namespace hyperparallel::test {

inline constexpr decoder llama3_8b{
    .vocabulary = 128256,
    .hidden = 4096,
    .layers = 32,
    .attention = {.query_heads = 32, .key_heads = 8, .head_dim = 128, .rope_base = 500000.0},
    .feed_forward = {.width = 14336}};

inline constexpr decoder qwen25_0_5b{
    .vocabulary = 151936,
    .hidden = 896,
    .layers = 24,
    .attention = {.query_heads = 14, .key_heads = 2, .head_dim = 64, .rope_base = 1e6, .query_key_value_bias = true},
    .feed_forward = {.width = 4864},
    .tied = true};

inline constexpr decoder qwen3_30b_a3b{
    .vocabulary = 151936,
    .hidden = 2048,
    .layers = 48,
    .attention = {.query_heads = 32, .key_heads = 4, .head_dim = 128, .rope_base = 1e6, .query_key_norm = true},
    .experts = {.experts = 128, .top_k = 8, .width = 768},
    .has_experts = true};

/// Qwen1.5-MoE-A2.7B: four shared experts behind one gate.
inline constexpr decoder qwen15_moe{
    .vocabulary = 151936,
    .hidden = 2048,
    .layers = 24,
    .attention = {.query_heads = 16, .key_heads = 16, .head_dim = 128, .rope_base = 1e6, .query_key_value_bias = true},
    .experts = {.experts = 60, .top_k = 4, .width = 1408, .shared_width = 5632, .shared_gate = true},
    .has_experts = true};

inline constexpr decoder deepseek_v3{
    .vocabulary = 129280,
    .hidden = 7168,
    .layers = 61,
    .latent_attention =
        {.heads = 128, .head_dim = 128, .rope_dim = 64, .value_dim = 128, .query_rank = 1536, .key_value_rank = 512},
    .has_latents = true,
    .feed_forward = {.width = 18432},
    .experts = {.experts = 256,
                .top_k = 8,
                .width = 2048,
                .shared_width = 2048,
                .scores = expert_scores::sigmoid,
                .weight_scale = 2.5},
    .has_experts = true,
    .sparse = {.first = 3},
    .prediction_modules = 1};

/// Every option that a family has, at sizes of a unit test.
constexpr decoder small_decoder(bool latents, bool experts) {
  decoder d{.vocabulary = 16,
            .hidden = 8,
            .layers = 5,
            .attention = {.query_heads = 4,
                          .key_heads = 2,
                          .head_dim = 6,
                          .window = 3,
                          .rope_base = 1e4,
                          .query_key_norm = true,
                          .query_key_value_bias = true,
                          .output_bias = true},
            .latent_attention = {.heads = 2,
                                 .head_dim = 4,
                                 .rope_dim = 2,
                                 .value_dim = 5,
                                 .query_rank = 6,
                                 .key_value_rank = 3,
                                 .bias = true},
            .has_latents = latents,
            .first_windowed = 4,
            .feed_forward = {.width = 12, .bias = true},
            .experts = {.experts = 4,
                        .top_k = 2,
                        .width = 5,
                        .shared_width = 7,
                        .shared_gate = true,
                        .scores = expert_scores::sigmoid},
            .has_experts = experts,
            .sparse = {.first = 1, .period = 2, .phase = 1}};
  return d;
}

}  // namespace hyperparallel::test
