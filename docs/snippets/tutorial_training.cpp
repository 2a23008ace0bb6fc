// SPDX-License-Identifier: Apache-2.0
// docs/tutorial/from-layout-to-running-layer.md: a model that trains
#undef NDEBUG
#include <cassert>
#include <cstdint>
#include <vector>

#include <hyperparallel/train.hpp>

namespace hp = hyperparallel;

struct tiny_model {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 4), seq = m.dim("seq", 8);
    const int tokens = m.index_input("tokens", {batch, seq}), labels = m.index_input("labels", {batch, seq});
    const int x = hp::token_embedding{.vocabulary = 32, .hidden = 16}(m, tokens);
    const int y = m.scope("ffn", [&] { return hp::swiglu_layer{.width = 32}(m, x); });
    hp::language_head{.vocabulary = 32}(m, y, labels);
  }
};
struct grid : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
using step = hp::train_step<tiny_model, hp::strategy<grid, hp::fully_sharded<"dp", 3>, hp::tensor_parallel<"tp">>,
                            hp::adamw, hp::matrix384>;
static_assert(step::verified && hp::fits<step, 64 * hp::KiB>());

int main() {
  std::vector<std::int32_t> tokens, labels;
  for (int i = 0; i < 4 * 8; ++i) {
    tokens.push_back(i % 32);
    labels.push_back((i + 1) % 32);
  }
  hp::world<step> world;  // four simulated ranks
  world.feed("tokens", tokens).feed("labels", labels);
  const std::vector<double> losses = world.train(20);
  assert(losses.back() < losses.front());
}
