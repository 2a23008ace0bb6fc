// SPDX-License-Identifier: Apache-2.0
#pragma once
// Multi-head latent attention: queries and keys/values pass through narrow latents; positions ride on dims of their
// own.
//
//   query latent      norm(x · query_down)         (batch, seq, query_rank)
//   query             latent · query_up            (batch, seq, heads, head_dim)
//   query rotary      rope(latent · query_rope)    (batch, seq, heads, rope_dim)
//   key/value latent  norm(x · key_value_down)     (batch, seq, key_value_rank)
//   key, value        latent · key_up, value_up    (batch, seq, heads, head_dim), (batch, seq, heads, value_dim)
//   key rotary        rope(x · key_rope)           (batch, seq, rope_dim), shared by all heads
//   scores            (query · key + query rotary · key rotary) / sqrt(head_dim + rope_dim)
//
// `query_rank` 0 makes queries of x itself. `bias` adds biases to query_down, key_value_down, key_rope and output.
// Parameters "name.query_down.weight", ".query_norm.weight", … as the rows say. `score_factor` is the square of the
// length-extension factor that YaRN applies to the scores, 1 where a model is trained at its own length.
// Source: DeepSeek-V2, 2024, section 2.1; DeepSeek-V3, 2024.

#include <hyperparallel/layers/attention.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct latent_attention_layer {
  const char* name = "attention";
  extent_t heads = 1;
  extent_t head_dim = 1;  ///< of a query or key, without its rotary part
  extent_t rope_dim = 1;
  extent_t value_dim = 1;
  extent_t query_rank = 0;
  extent_t key_value_rank = 1;
  bool causal = true;
  double rope_base = 10000.0;
  double score_factor = 1.0;
  double epsilon = 1e-6;
  bool bias = false;

  constexpr int operator()(model_builder& m, int x) const {
    const token_dims d = detail::token_dims_of(m, name, x);
    if (!d.valid) return -1;
    const int head = m.dim("heads", heads), width = m.dim("head_dim", head_dim), turned = m.dim("rope_dim", rope_dim);
    const int value_width = m.dim("value_dim", value_dim);
    return m.scope(name, [&] {
      int source = x;
      if (query_rank > 0) {
        source = linear_layer{.name = "query_down", .output = {m.dim("query_rank", query_rank)}, .bias = bias}(m, x);
        source = rms_norm_layer{"query_norm", epsilon}(m, source);
      }
      const int query = linear_layer{"query_up", {head, width}}(m, source);
      const int query_turned =
          rotary_layer{"query_rotated", rope_base}(m, linear_layer{"query_rope", {head, turned}}(m, source));
      const int rank = m.dim("key_value_rank", key_value_rank);
      int latent = linear_layer{.name = "key_value_down", .output = {rank}, .bias = bias}(m, x);
      latent = rms_norm_layer{"key_value_norm", epsilon}(m, latent);
      const int key = linear_layer{"key_up", {head, width}}(m, latent);
      const int key_rope = linear_layer{.name = "key_rope", .output = {turned}, .bias = bias}(m, x);
      const int key_turned = rotary_layer{"key_rotated", rope_base}(m, key_rope);
      const int value = linear_layer{"value_up", {head, value_width}}(m, latent);
      const double scale = score_factor * detail::attention_scale(head_dim + rope_dim);
      const int mixed = m.apply<ops::latent_attention>("attend", {query, query_turned, key, key_turned, value},
                                                       {.integer = {causal ? 1 : 0}, .real = {scale}});
      return linear_layer{.name = "output", .output = {d.hidden}, .contracted = 2, .bias = bias}(m, mixed);
    });
  }
};

}}  // namespace hyperparallel::v0_2
