// SPDX-License-Identifier: Apache-2.0
// Hashes of losses and parameters after steps of training a mixture-of-experts model: one line a strategy. The
// same source compiled for different machines prints the same lines.

#include <bit>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <hyperparallel/train.hpp>

#include "../../examples/models/small_moe.hpp"

namespace hp = hyperparallel;

namespace {

/// FNV-1a over the bytes of numbers.
struct hash {
  std::uint64_t value = 1469598103934665603U;
  void add(const std::vector<float>& numbers) {
    for (const float number : numbers)
      for (std::uint32_t i = 0, bits = std::bit_cast<std::uint32_t>(number); i < 4; ++i, bits >>= 8)
        value = (value ^ (bits & 0xFFU)) * 1099511628211U;
  }
};

void print_bits(const char* strategy, int ranks) {
  hp::model_builder m({.unrolled = true});
  models::build_small_moe(m, {.sequence = 16, .layers = 2, .hidden = 32, .head_dim = 4, .expert_width = 32});
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  hp::model_run<float> run(m.graph, hp::strategy_called(strategy, ranks).strategy);
  hash h;
  for (int step = 0; step < 4; ++step)
    h.add(std::vector<float>{
        run.train_step([&](int batch) { run.set_random_inputs(static_cast<std::uint64_t>(step + batch)); })});
  for (int t = 0; t < run.model().tensor.size; ++t) {
    const hp::graph_tensor& tensor = run.model().tensor[t];
    if (tensor.kind == hp::graph_tensor_kind::parameter && tensor.replaces < 0) h.add(run.world().get(t));
  }
  std::printf("%s on %d ranks: %016llx\n", strategy, ranks, static_cast<unsigned long long>(h.value));
}

}  // namespace

int main() {
  print_bits("single", 1);
  print_bits("dp-tp", 4);
  print_bits("ring", 2);
}
