// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small mixture-of-experts language model over bytes: grouped queries, rotary positions, eight experts of which a
// token takes two. The same function builds it from run-time sizes and as a type.
//
//   hp::build_model<models::small_moe<>>()                         in a constant evaluation
//   hp::model_builder m({.unrolled = true});  models::build_small_moe(m, {.layers = 6, .hidden = 128});
//
// Inputs "tokens" and "labels" (batch, seq): labels are the tokens that follow.

#include <hyperparallel/layers.hpp>

namespace models {

namespace hp = hyperparallel;

struct small_moe_config {
  hp::extent_t batch = 8;
  hp::extent_t sequence = 64;
  hp::extent_t vocabulary = 256;
  hp::extent_t layers = 4;
  hp::extent_t hidden = 64;
  hp::extent_t query_heads = 8;
  hp::extent_t key_heads = 4;
  hp::extent_t head_dim = 8;
  hp::extent_t experts = 8;
  hp::extent_t top_k = 2;
  hp::extent_t expert_width = 64;
  hp::extent_t shared_width = 0;  ///< 0: no shared expert
  hp::expert_scores scores = hp::expert_scores::softmax;
  hp::expert_slots slots = hp::expert_slots::per_group;
  double capacity_factor = 2.0;
  double balance_scale = 0.01;
  double rope_base = 10000.0;
  double epsilon = 1e-6;
};

constexpr void build_small_moe(hp::model_builder& m, const small_moe_config& c) {
  const int batch = m.dim("batch", c.batch), sequence = m.dim("seq", c.sequence);
  const int tokens = m.index_input("tokens", {batch, sequence});
  const int labels = m.index_input("labels", {batch, sequence});
  const hp::transformer_block<hp::attention_layer, hp::mixture_of_experts> block{
      .attention = {.query_heads = c.query_heads,
                    .key_heads = c.key_heads,
                    .head_dim = c.head_dim,
                    .rope_base = c.rope_base,
                    .epsilon = c.epsilon},
      .feed_forward = {.experts = c.experts,
                       .top_k = c.top_k,
                       .width = c.expert_width,
                       .shared_width = c.shared_width,
                       .scores = c.scores,
                       .slots = c.slots,
                       .capacity_factor = c.capacity_factor,
                       .balance_scale = c.balance_scale},
      .epsilon = c.epsilon};
  int x = hp::token_embedding{.vocabulary = c.vocabulary, .hidden = c.hidden}(m, tokens);
  x = m.repeat("layers", c.layers, x, block);
  hp::language_head{.vocabulary = c.vocabulary, .epsilon = c.epsilon}(m, x, labels);
}

struct small_moe_sizes {
  static constexpr small_moe_config config{};
};

/// The model as a type; `Sizes` brings a `config`.
template <class Sizes = small_moe_sizes>
struct small_moe {
  static constexpr small_moe_config config = Sizes::config;
  static constexpr void build(hp::model_builder& m) { build_small_moe(m, config); }
};

}  // namespace models
