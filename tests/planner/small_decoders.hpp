// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small decoders that plans are tried on: dense, with experts, with latents, and with the layers of other families.

#include <hyperparallel/layers/decoder.hpp>

#include <vector>

namespace small_decoders {

namespace hp = hyperparallel;

inline hp::decoder dense() {
  return {.vocabulary = 60,
          .hidden = 16,
          .layers = 2,
          .attention = {.query_heads = 4, .key_heads = 2, .head_dim = 4, .rope_base = 10000.0},
          .feed_forward = {.width = 24}};
}

/// Groups of queries divide by 3, key heads do not.
inline hp::decoder grouped() {
  hp::decoder d = dense();
  d.attention.query_heads = 6;
  return d;
}

inline hp::decoder with_experts() {
  hp::decoder d = dense();
  d.layers = 3;
  d.experts = {.experts = 6, .top_k = 2, .width = 12, .shared_width = 20};
  d.has_experts = true;
  d.sparse = {.first = 1};
  return d;
}

inline hp::decoder latent() {
  hp::decoder d = with_experts();
  d.has_latents = true;
  d.latent_attention = {.heads = 4, .head_dim = 4, .rope_dim = 2, .value_dim = 4, .query_rank = 6, .key_value_rank = 6};
  return d;
}

/// GPT-2's: layer norms, biases, learned positions, GELU without a gate.
inline hp::decoder biased() {
  hp::decoder d = dense();
  d.attention = {.query_heads = 4, .key_heads = 4, .head_dim = 4, .query_key_value_bias = true, .output_bias = true};
  d.feed_forward.bias = true;
  d.form = hp::feed_forward_form::gelu_tanh;
  d.norm = hp::norm_form::layer;
  d.positions = 8192;
  d.tied = true;
  return d;
}

/// GPT-NeoX's: attention and feed-forward layers side by side.
inline hp::decoder side_by_side() {
  hp::decoder d = biased();
  d.attention.rope_base = 10000.0;
  d.positions = 0;
  d.side_by_side = true;
  d.tied = false;
  return d;
}

/// Gemma 2's: norms behind branches, caps, gated GELU, windows in every other layer.
inline hp::decoder capped() {
  hp::decoder d = dense();
  d.layers = 4;
  d.attention.score_cap = 50.0;
  d.attention.window = 5;
  d.full_every = 2;
  d.form = hp::feed_forward_form::geglu;
  d.branch_norms = true;
  d.embedding_scale = 4.0;
  d.logit_cap = 30.0;
  d.tied = true;
  return d;
}

/// gpt-oss's: sinks, biases of router and experts.
inline hp::decoder with_sinks() {
  hp::decoder d = with_experts();
  d.sparse = {};
  d.attention.query_key_value_bias = d.attention.output_bias = d.attention.sinks = true;
  d.experts.shared_width = 0;
  d.experts.bias = true;
  d.experts.gate_limit = 7.0;
  return d;
}

/// Qwen3.5's: linear attention in every other layer, full attention with a gate.
inline hp::decoder linear() {
  hp::decoder d = dense();
  d.layers = 4;
  d.attention.query_key_norm = d.attention.output_gate = true;
  d.linear = {.key_heads = 2, .value_heads = 4, .key_dim = 4, .value_dim = 6};
  d.has_linear = true;
  d.full_every = 2;
  return d;
}

/// Nemotron-H's: layers of one branch each, Mamba-2, attention, feed-forward layers of squared ReLU and experts in latents.
inline hp::decoder one_branch() {
  using enum hp::layer_branch;
  hp::decoder d = dense();
  d.attention.rope_base = 0.0;
  d.form = hp::feed_forward_form::squared_relu;
  d.linear = {.key_heads = 2, .value_heads = 4, .key_dim = 4, .value_dim = 6, .form = hp::linear_form::state_space};
  d.has_linear = true;
  d.experts = {.experts = 6, .top_k = 2, .width = 12, .shared_width = 20, .latent = 8, .gated = false};
  d.has_experts = true;
  for (const hp::layer_branch b :
       {linear_attention, feed_forward, linear_attention, feed_forward, attention, experts, linear_attention, experts})
    d.branches.push(b);
  d.layers = d.branches.size;
  return d;
}

inline std::vector<hp::decoder> all() {
  return {dense(),        grouped(), with_experts(), latent(), biased(),
          side_by_side(), capped(),  with_sinks(),   linear(), one_branch()};
}

/// Large enough for bounds to bind.
inline hp::decoder real(hp::decoder d) {
  d.vocabulary = 32000;
  d.hidden = 4096;
  d.layers = 6;
  d.attention = {.query_heads = 32, .key_heads = 8, .head_dim = 128, .rope_base = 10000.0};
  d.feed_forward = {.width = 14336};
  d.experts.experts = 8;
  d.experts.width = 4096;
  d.experts.shared_width = d.has_experts ? 4096 : 0;
  d.linear = {.key_heads = 8, .value_heads = 16, .key_dim = 128, .value_dim = 128};
  if (d.has_latents)
    d.latent_attention = {
        .heads = 32, .head_dim = 128, .rope_dim = 64, .value_dim = 128, .query_rank = 1024, .key_value_rank = 512};
  return d;
}

}  // namespace small_decoders
