// SPDX-License-Identifier: Apache-2.0
// docs/tutorial/from-layout-to-running-layer.md: a model that trains
#undef NDEBUG
#include <cassert>
#include <cmath>
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

struct one_device : hp::device_matrix<hp::axis{"dp", 1}> {};
template <class Strategy>
using in_f32 = hp::train_step<tiny_model, Strategy, hp::adamw, hp::matrix384, hp::precision<hp::data_type::f32>>;

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

  hp::world<in_f32<hp::strategy<grid, hp::fully_sharded<"dp", 3>, hp::tensor_parallel<"tp">>>> many;
  hp::world<in_f32<hp::strategy<one_device>>>
      alone;  // parameters begin by the seed and their names, not by the strategy
  const std::vector<double> ours = many.feed("tokens", tokens).feed("labels", labels).train(20),
                            theirs = alone.feed("tokens", tokens).feed("labels", labels).train(20);
  for (std::size_t i = 0; i < ours.size(); ++i) assert(std::abs(ours[i] - theirs[i]) <= 1e-5 * theirs[i]);
  const std::vector<float> table = many.fetch("embedding.weight"), table_alone = alone.fetch("embedding.weight");
  for (std::size_t i = 0; i < table.size(); ++i) assert(std::abs(table[i] - table_alone[i]) <= 1e-6);
}
