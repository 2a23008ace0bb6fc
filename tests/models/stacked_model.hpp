// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small language model of two stacks, folded or written out, with gradient and optimizer: what accounts are held to.

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>

#include "models/language_model.hpp"

namespace programs {

namespace hp = hyperparallel;

struct stacked_model {
  hp::extent_t dense_layers = 3;
  hp::extent_t expert_layers = 0;
  hp::extent_t batch = 4, sequence = 8, hidden = 16, ffn = 32, vocabulary = 32;
  hp::extent_t key_heads = 2, query_heads = 4, head_dim = 4;
  int micro_batches = 1;
  bool unrolled = false;
  bool trained = true;  ///< with an optimizer
  hp::data_type type = hp::data_type::f32;

  constexpr hp::graph build() const {
    hp::model_builder m(hp::build_options{type, type, unrolled});
    m.graph.micro_batches = micro_batches;
    const text_inputs text(m, {batch, sequence, vocabulary, hidden});
    const hp::attention_layer attention{.query_heads = query_heads, .key_heads = key_heads, .head_dim = head_dim};
    int x = m.repeat("dense", dense_layers, text.x, [&](hp::model_builder& inner, int y) {
      return hp::transformer_block<hp::attention_layer, hp::swiglu_layer>{attention, {.width = ffn}}(inner, y);
    });
    x = m.repeat("wide", expert_layers, x, [&](hp::model_builder& inner, int y) {
      return hp::transformer_block<hp::attention_layer, hp::swiglu_layer>{
          attention, {.width = 2 * ffn, .width_dim = "wide_ffn"}}(inner, y);
    });
    hp::language_head{.vocabulary = vocabulary}(m, x, text.labels);
    hp::differentiate(m.graph);
    if (trained) hp::append_optimizer(m.graph, {});
    return m.graph;
  }
};

}  // namespace programs
