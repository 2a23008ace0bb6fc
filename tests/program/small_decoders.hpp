// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small decoders that plans are tried on: dense, with experts, with latents.

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

inline std::vector<hp::decoder> all() { return {dense(), grouped(), with_experts(), latent()}; }

}  // namespace small_decoders
