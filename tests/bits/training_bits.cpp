// SPDX-License-Identifier: Apache-2.0
// Hashes of losses and parameters after steps of training a mixture-of-experts model: one line a strategy and type. The
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
  template <class T>
  void add(const std::vector<T>& numbers) {
    for (const T& number : numbers) {
      auto bits = std::bit_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(number);
      for (std::size_t i = 0; i < sizeof(T); ++i, bits = static_cast<decltype(bits)>(bits >> 8))
        value = (value ^ static_cast<std::uint8_t>(bits)) * 1099511628211U;
    }
  }
};

template <class T>
void print_bits(const char* strategy, int ranks) {
  hp::model_builder m({.unrolled = true});
  models::build_small_moe(m, {.sequence = 16, .layers = 2, .hidden = 32, .head_dim = 4, .expert_width = 32});
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  hp::model_run<T> run(m.graph, hp::strategy_called(strategy, ranks).strategy);
  hash h;
  for (int step = 0; step < 4; ++step)
    h.add(std::vector<T>{
        run.train_step([&](int batch) { run.set_random_inputs(static_cast<std::uint64_t>(step + batch)); })});
  for (int t = 0; t < run.model().tensor.size; ++t) {
    const hp::graph_tensor& tensor = run.model().tensor[t];
    if (tensor.kind == hp::graph_tensor_kind::parameter && tensor.replaces < 0) h.add(run.world().get(t));
  }
  std::printf("%s on %d ranks, %zu bytes: %016llx\n", strategy, ranks, sizeof(T),
              static_cast<unsigned long long>(h.value));
}

}  // namespace

int main() {
  print_bits<float>("single", 1);
  print_bits<float>("dp-tp", 4);
  print_bits<double>("ring", 2);
}
