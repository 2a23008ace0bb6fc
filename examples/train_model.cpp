// SPDX-License-Identifier: Apache-2.0
// A language model written for one device trains on eight simulated ranks under ZeRO, tensor and sequence parallelism,
// in bf16 with masters of 32 bits, by the plan that the compiler has made and proved.
//   g++ -std=c++20 -O2 -Iinclude examples/train_model.cpp -o train_model -pthread && ./train_model
#include <cstdio>
#include <vector>

#include <hyperparallel/train.hpp>

#include "standard_output.hpp"

namespace hp = hyperparallel;

struct language_model {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 8), seq = m.dim("seq", 32);
    const int tokens = m.index_input("tokens", {batch, seq}), labels = m.index_input("labels", {batch, seq});
    const hp::transformer_block<hp::attention_layer, hp::swiglu_layer> block{
        .attention = {.query_heads = 8, .key_heads = 4, .head_dim = 8, .rope_base = 10000.0},
        .feed_forward = {.width = 128}};
    int x = hp::token_embedding{.vocabulary = 256, .hidden = 64}(m, tokens);
    x = m.repeat("layers", 4, x, block);
    hp::language_head{.vocabulary = 256}(m, x, labels);
  }
};

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using strategy = hp::strategy<mesh, hp::fully_sharded<"dp", 1>, hp::tensor_parallel<"tp">, hp::sequence_parallel<"tp">>;
using step = hp::train_step<language_model, strategy, hp::adamw, hp::matrix384>;  // derived and planned by the compiler
static_assert(step::verified && hp::fits<step, hp::MiB>());

int main() {
  std::vector<std::int32_t> tokens, labels;  // the next token is three times this one
  for (int i = 0, token = 1; i < 8 * 32; ++i) {
    tokens.push_back(token);
    labels.push_back(token = token * 3 % 256);
  }
  hp::world<step> world;  // runs the plan that was asserted: nothing is planned here
  world.feed("tokens", tokens).feed("labels", labels);
  const std::vector<double> losses = world.train(5);
  for (std::size_t i = 0; i < losses.size(); ++i) std::printf("step %zu: loss %.6f\n", i + 1, losses[i]);
  return finished("train_model", losses.back() < losses.front() ? 0 : 1);
}
