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

/// The same with experts of this width instead of one feed-forward layer, two of them for a token.
constexpr decoder llama3_8b_with_experts(int experts, int width) {
  decoder d = llama3_8b;
  d.has_experts = true;
  d.experts.experts = experts;
  d.experts.top_k = 2;
  d.experts.width = width;
  return d;
}

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

/// Qwen3-Next-80B-A3B: gated delta nets in three layers of four.
inline constexpr decoder qwen3_next{
    .vocabulary = 151936,
    .hidden = 2048,
    .layers = 48,
    .attention = {.query_heads = 16,
                  .key_heads = 2,
                  .head_dim = 256,
                  .rope_base = 1e7,
                  .query_key_norm = true,
                  .output_gate = true},
    .linear = {.key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128},
    .has_linear = true,
    .full_every = 4,
    .experts = {.experts = 512, .top_k = 10, .width = 512, .shared_width = 512, .shared_gate = true},
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

inline constexpr decoder gpt2{.vocabulary = 50257,
                              .hidden = 768,
                              .layers = 12,
                              .attention = {.query_heads = 12,
                                            .key_heads = 12,
                                            .head_dim = 64,
                                            .query_key_value_bias = true,
                                            .output_bias = true},
                              .feed_forward = {.width = 3072, .bias = true},
                              .form = feed_forward_form::gelu_tanh,
                              .norm = norm_form::layer,
                              .positions = 1024,
                              .tied = true};

inline constexpr decoder pythia_70m{.vocabulary = 50304,
                                    .hidden = 512,
                                    .layers = 6,
                                    .attention = {.query_heads = 8,
                                                  .key_heads = 8,
                                                  .head_dim = 64,
                                                  .rope_base = 1e4,
                                                  .query_key_value_bias = true,
                                                  .output_bias = true},
                                    .feed_forward = {.width = 2048, .bias = true},
                                    .form = feed_forward_form::gelu,
                                    .norm = norm_form::layer,
                                    .side_by_side = true};

inline constexpr decoder gemma2_27b{
    .vocabulary = 256000,
    .hidden = 4608,
    .layers = 46,
    .attention =
        {.query_heads = 32, .key_heads = 16, .head_dim = 128, .window = 4096, .rope_base = 1e4, .score_cap = 50.0},
    .full_every = 2,
    .feed_forward = {.width = 36864},
    .form = feed_forward_form::geglu,
    .branch_norms = true,
    .tied = true,
    .logit_cap = 30.0};

inline constexpr decoder gpt_oss_20b{.vocabulary = 201088,
                                     .hidden = 2880,
                                     .layers = 24,
                                     .attention = {.query_heads = 64,
                                                   .key_heads = 8,
                                                   .head_dim = 64,
                                                   .window = 128,
                                                   .rope_base = 150000.0,
                                                   .query_key_value_bias = true,
                                                   .output_bias = true,
                                                   .sinks = true},
                                     .full_every = 2,
                                     .experts = {.experts = 32, .top_k = 4, .width = 2880, .bias = true},
                                     .has_experts = true};

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

/// Small decoders with the layers of families that are not Llama's; their dims divide by 4, experts by 8.
constexpr decoder small_family() {
  return {.vocabulary = 32,
          .hidden = 16,
          .layers = 4,
          .attention = {.query_heads = 8, .key_heads = 4, .head_dim = 4, .rope_base = 1e4},
          .feed_forward = {.width = 32}};
}
constexpr decoder small_minicpm() {
  decoder d = small_family();
  d.embedding_scale = 12.0;
  d.branch_scale = 0.7;
  d.hidden_scale = 0.5;
  d.tied = true;
  return d;
}
constexpr decoder small_gpt2() {
  decoder d = small_family();
  d.attention = {.query_heads = 4, .key_heads = 4, .head_dim = 4, .query_key_value_bias = true, .output_bias = true};
  d.feed_forward.bias = true;
  d.form = feed_forward_form::gelu_tanh;
  d.norm = norm_form::layer;
  d.positions = 16;
  d.tied = true;
  return d;
}
constexpr decoder small_gpt_neox() {
  decoder d = small_gpt2();
  d.attention.rope_base = 1e4;
  d.form = feed_forward_form::gelu;
  d.positions = 0;
  d.side_by_side = true;
  d.tied = false;
  return d;
}
constexpr decoder small_gemma2() {
  decoder d = small_family();
  d.attention.scale = 0.4;
  d.attention.score_cap = 5.0;
  d.attention.window = 3;
  d.full_every = 2;
  d.form = feed_forward_form::geglu;
  d.branch_norms = true;
  d.embedding_scale = 4.0;
  d.logit_cap = 3.0;
  d.tied = true;
  return d;
}
constexpr decoder small_gemma3() {
  decoder d = small_gemma2();
  d.attention.score_cap = d.logit_cap = 0.0;
  d.attention.query_key_norm = true;
  d.windowed_rope_base = 100.0;
  d.full_every = 3;
  return d;
}
constexpr decoder small_gpt_oss() {
  decoder d = small_family();
  d.attention.query_key_value_bias = d.attention.output_bias = d.attention.sinks = true;
  d.attention.window = 3;
  d.full_every = 2;
  d.experts = {.experts = 8, .top_k = 2, .width = 8, .bias = true, .gate_limit = 0.5, .capacity_factor = 8.0};
  d.has_experts = true;
  return d;
}
/// Linear attention in turn with full attention, which has a gate.
constexpr decoder small_qwen3_5() {
  decoder d = small_family();
  d.layers = 4;
  d.attention.query_key_norm = d.attention.output_gate = true;
  d.linear = {.key_heads = 4, .value_heads = 8, .key_dim = 4, .value_dim = 6, .taps = 3};
  d.has_linear = true;
  d.full_every = 2;
  return d;
}
/// Layers of one branch each: Mamba-2, experts in latents, attention, squared ReLU.
constexpr decoder small_nemotron_h() {
  decoder d = small_family();
  d.attention.rope_base = 0.0;
  d.form = feed_forward_form::squared_relu;
  d.linear = {.key_heads = 4, .value_heads = 8, .key_dim = 4, .value_dim = 6, .form = linear_form::state_space};
  d.has_linear = true;
  d.experts = {.experts = 8,
               .top_k = 2,
               .width = 8,
               .shared_width = 16,
               .latent = 8,
               .gated = false,
               .scores = expert_scores::sigmoid,
               .capacity_factor = 8.0};
  d.has_experts = true;
  for (const layer_branch b : {layer_branch::linear_attention, layer_branch::experts, layer_branch::linear_attention,
                               layer_branch::experts, layer_branch::attention, layer_branch::feed_forward})
    d.branches.push(b);
  d.layers = d.branches.size;
  return d;
}
inline constexpr decoder small_families[] = {small_minicpm(), small_gpt2(),    small_gpt_neox(), small_gemma2(),
                                             small_gemma3(),  small_gpt_oss(), small_qwen3_5(),  small_nemotron_h()};

}  // namespace hyperparallel::test
