// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decoders of published checkpoints, from the sizes of their config.json.

#include <hyperparallel/layers/decoder.hpp>

namespace tables {

namespace hp = hyperparallel;

/// meta-llama/Meta-Llama-3-8B.
inline constexpr hp::decoder llama3_8b{
    .vocabulary = 128256,
    .hidden = 4096,
    .layers = 32,
    .attention = {.query_heads = 32, .key_heads = 8, .head_dim = 128, .rope_base = 500000.0},
    .feed_forward = {.width = 14336}};

/// meta-llama/Llama-2-7b: as many key heads as query heads, 0.5 MiB of cache a token in 16 bits.
inline constexpr hp::decoder llama2_7b{
    .vocabulary = 32000,
    .hidden = 4096,
    .layers = 32,
    .attention = {.query_heads = 32, .key_heads = 32, .head_dim = 128, .rope_base = 10000.0},
    .feed_forward = {.width = 11008}};

/// Qwen/Qwen1.5-72B: as many key heads as query heads.
inline constexpr hp::decoder qwen15_72b{
    .vocabulary = 152064,
    .hidden = 8192,
    .layers = 80,
    .attention = {.query_heads = 64, .key_heads = 64, .head_dim = 128, .rope_base = 1e6, .query_key_value_bias = true},
    .feed_forward = {.width = 24576}};

/// The 22 billion parameters of Korthikanti et al., 2205.05198.
inline constexpr hp::decoder gpt_22b{.vocabulary = 51200,
                                     .hidden = 6144,
                                     .layers = 48,
                                     .attention = {.query_heads = 64,
                                                   .key_heads = 64,
                                                   .head_dim = 96,
                                                   .query_key_value_bias = true,
                                                   .output_bias = true},
                                     .feed_forward = {.width = 24576, .bias = true},
                                     .form = hp::feed_forward_form::gelu_tanh,
                                     .norm = hp::norm_form::layer,
                                     .positions = 2048,
                                     .tied = true};

}  // namespace tables
