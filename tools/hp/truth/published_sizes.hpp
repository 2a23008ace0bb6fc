// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes of models that rows name and do not print, as they are published: the one file of completed inputs.
//
// A name counts in lower case by its letters and digits, as a whole: "Kimi_K2" is "kimi-k2". Law: what a row prints stays; where that
// differs from what is published of the name, nothing is completed. Models of other layers (state spaces, linear or sparse attention) are
// not here.

#include <cctype>
#include <string>
#include <string_view>

#include "published_row.hpp"

namespace truth {

struct published_model {
  std::string_view name;    ///< lower case, letters and digits
  std::string_view source;  ///< a repository of huggingface.co, whose config.json has the sizes, or a paper
  model_sizes sizes{};
};

inline const published_model published_models[] = {
    {"gpt3175b",
     "arXiv 2005.14165, table 2.1",
     {.layers = 96, .hidden = 12288, .heads = 96, .key_heads = 96, .head_dim = 128, .width = 49152}},
    {"kimik2",
     "moonshotai/Kimi-K2-Instruct",
     {.layers = 61,
      .hidden = 7168,
      .heads = 64,
      .key_heads = 64,
      .width = 18432,
      .vocabulary = 163840,
      .experts = 384,
      .top_k = 8,
      .expert_width = 2048,
      .shared_experts = 1,
      .dense_layers = 1,
      .has_latents = true}},
    {"deepseekv3",
     "deepseek-ai/DeepSeek-V3",
     {.layers = 61,
      .hidden = 7168,
      .heads = 128,
      .key_heads = 128,
      .width = 18432,
      .vocabulary = 129280,
      .experts = 256,
      .top_k = 8,
      .expert_width = 2048,
      .shared_experts = 1,
      .dense_layers = 3,
      .has_latents = true}},
    {"nemotron3nano",
     "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
     {.layers = 52,
      .hidden = 2688,
      .heads = 32,
      .key_heads = 2,
      .head_dim = 128,
      .vocabulary = 131072,
      .experts = 128,
      .top_k = 6,
      .expert_width = 1856}},
    {"nemotron3nano30ba3b",
     "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
     {.layers = 52,
      .hidden = 2688,
      .heads = 32,
      .key_heads = 2,
      .head_dim = 128,
      .vocabulary = 131072,
      .experts = 128,
      .top_k = 6,
      .expert_width = 1856}},
    {"nemotron3super",
     "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B",
     {.layers = 88,
      .hidden = 4096,
      .heads = 32,
      .key_heads = 2,
      .head_dim = 128,
      .vocabulary = 131072,
      .experts = 512,
      .top_k = 22,
      .expert_width = 2688}},
    {"qwen2514b",
     "Qwen/Qwen2.5-14B",
     {.layers = 48,
      .hidden = 5120,
      .heads = 40,
      .key_heads = 8,
      .head_dim = 128,
      .width = 13824,
      .vocabulary = 152064}},
    {"qwen2532b",
     "Qwen/Qwen2.5-32B",
     {.layers = 64,
      .hidden = 5120,
      .heads = 40,
      .key_heads = 8,
      .head_dim = 128,
      .width = 27648,
      .vocabulary = 152064}},
    {"qwen38b",
     "Qwen/Qwen3-8B",
     {.layers = 36,
      .hidden = 4096,
      .heads = 32,
      .key_heads = 8,
      .head_dim = 128,
      .width = 12288,
      .vocabulary = 151936}},
    {"qwen332b",
     "Qwen/Qwen3-32B",
     {.layers = 64,
      .hidden = 5120,
      .heads = 64,
      .key_heads = 8,
      .head_dim = 128,
      .width = 25600,
      .vocabulary = 151936}},
    {"qwen330ba3b",
     "Qwen/Qwen3-30B-A3B",
     {.layers = 48,
      .hidden = 2048,
      .heads = 32,
      .key_heads = 4,
      .head_dim = 128,
      .vocabulary = 151936,
      .experts = 128,
      .top_k = 8,
      .expert_width = 768}},
    {"qwen3235ba22b",
     "Qwen/Qwen3-235B-A22B",
     {.layers = 94,
      .hidden = 4096,
      .heads = 64,
      .key_heads = 4,
      .head_dim = 128,
      .vocabulary = 151936,
      .experts = 128,
      .top_k = 8,
      .expert_width = 1536}},
    {"gptoss20b",
     "openai/gpt-oss-20b",
     {.layers = 24,
      .hidden = 2880,
      .heads = 64,
      .key_heads = 8,
      .head_dim = 64,
      .vocabulary = 201088,
      .experts = 32,
      .top_k = 4,
      .expert_width = 2880}},
    {"gptoss120b",
     "openai/gpt-oss-120b",
     {.layers = 36,
      .hidden = 2880,
      .heads = 64,
      .key_heads = 8,
      .head_dim = 64,
      .vocabulary = 201088,
      .experts = 128,
      .top_k = 4,
      .expert_width = 2880}},
    {"llama27b",
     "meta-llama/Llama-2-7b-hf",
     {.layers = 32,
      .hidden = 4096,
      .heads = 32,
      .key_heads = 32,
      .head_dim = 128,
      .width = 11008,
      .vocabulary = 32000}},
    {"llama213b",
     "meta-llama/Llama-2-13b-hf",
     {.layers = 40,
      .hidden = 5120,
      .heads = 40,
      .key_heads = 40,
      .head_dim = 128,
      .width = 13824,
      .vocabulary = 32000}},
    {"llama38b",
     "meta-llama/Meta-Llama-3-8B",
     {.layers = 32,
      .hidden = 4096,
      .heads = 32,
      .key_heads = 8,
      .head_dim = 128,
      .width = 14336,
      .vocabulary = 128256}},
};

/// Completes sizes of which a decoder cannot be counted, and names the source in `sizes_from`.
inline void complete(model_sizes& m) {
  if (m.ok()) return;
  std::string letters;
  for (const char c : lower_case(m.name))
    if (std::isalnum(static_cast<unsigned char>(c))) letters += c;
  for (const published_model& p : published_models) {
    if (letters != p.name) continue;
    model_sizes all = p.sizes;
    const hp::extent_t model_sizes::* const sizes[] = {
        &model_sizes::layers,   &model_sizes::hidden,       &model_sizes::heads,          &model_sizes::key_heads,
        &model_sizes::head_dim, &model_sizes::width,        &model_sizes::vocabulary,     &model_sizes::experts,
        &model_sizes::top_k,    &model_sizes::expert_width, &model_sizes::shared_experts, &model_sizes::dense_layers};
    for (const auto size : sizes)
      if (m.*size > 0 && m.*size != all.*size) return;
    all.name = m.name;
    all.sizes_from = p.source;
    m = all;
    return;
  }
}

}  // namespace truth
