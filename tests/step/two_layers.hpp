// SPDX-License-Identifier: Apache-2.0
#pragma once
// A transformer of two layers, in steps of four micro-batches on two ranks of tensor parallelism: a stage of a pipeline
// each, or both on the same ranks.

#include <cstdint>
#include <vector>

#include <hyperparallel/layers.hpp>
#include <hyperparallel/step/training_step.hpp>

namespace two_layers {

namespace hp = hyperparallel;

struct language_model {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 4), sequence = m.dim("seq", 4);
    const int tokens = m.index_input("tokens", {batch, sequence}), labels = m.index_input("labels", {batch, sequence});
    const hp::transformer_block<hp::attention_layer, hp::swiglu_layer> block{
        .attention = {.query_heads = 4, .key_heads = 2, .head_dim = 4}, .feed_forward = {.width = 16}};
    int x = hp::token_embedding{.vocabulary = 16, .hidden = 16}(m, tokens);
    x = m.repeat("layers", 2, x, block);
    hp::language_head{.vocabulary = 16}(m, x, labels);
  }
};

struct mesh : hp::device_matrix<hp::axis{"tp", 2}> {};
using strategy = hp::strategy<mesh, hp::tensor_parallel<"tp">>;
template <class Hardware, hp::data_type Type, class... Options>
using step_on =
    hp::train_step<language_model, strategy, hp::adamw, Hardware, hp::precision<Type>, hp::accumulating<4>, Options...>;

/// Rows of a table, of all micro-batches.
inline std::vector<std::int32_t> numbers(int first) {
  std::vector<std::int32_t> all;
  for (int i = 0; i < 4 * 16; ++i) all.push_back((first + 5 * i) % 16);
  return all;
}

}  // namespace two_layers
