// SPDX-License-Identifier: Apache-2.0
// A language model written for one device trains on eight simulated ranks under ZeRO, tensor and sequence parallelism,
// and on one device, in the types of the step: bf16, with masters of 32 bits. The losses are equal to 1 in 256.
//   g++ -std=c++20 -O2 -Iinclude examples/train_model.cpp -o train_model -pthread && ./train_model
#include <cmath>
#include <cstdio>

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
using step = hp::train_step<language_model, strategy, hp::adamw, hp::matrix384>;  // derived by the compiler
static_assert(step::verified && hp::fits_alive<step, hp::MiB>());

int main() {
  const hp::graph graph = hp::training_graph<language_model>(hp::adamw::value, {.build = {.unrolled = true}});
  hp::model_run<float> many(graph, strategy::value), one(graph, hp::strategy_called("single", 1).strategy);
  double difference = 0;
  for (int i = 1; i <= 5; ++i) {
    const double loss = many.train_step([&](int) { many.set_random_inputs(1); });
    const double alone = one.train_step([&](int) { one.set_random_inputs(1); });
    std::printf("step %d: loss %.6f on 8 ranks, %.6f on one device\n", i, loss, alone);
    difference = std::fmax(difference, std::fabs(loss - alone) / alone);
  }
  return finished("train_model", difference <= 0x1p-8 ? 0 : 1);
}
