// SPDX-License-Identifier: Apache-2.0
#pragma once
// The step of training that both programs of this folder run.

#include <cstdint>
#include <vector>

#include <hyperparallel/layers.hpp>
#include <hyperparallel/strategy/strategy_type.hpp>
#include <hyperparallel/world/world.hpp>

namespace planned {

namespace hp = hyperparallel;

/// Rows of a table, two layers with a residual, a loss over the vocabulary.
struct model {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 4), seq = m.dim("seq", 8);
    const int tokens = m.index_input("tokens", {batch, seq}), labels = m.index_input("labels", {batch, seq});
    int x = hp::token_embedding{.vocabulary = 32, .hidden = 16}(m, tokens);
    x = m.repeat("layers", 2, x, [](hp::model_builder& b, int y) {
      return b.sum("sum", y, hp::swiglu_layer{.name = "gated", .width = 32}(b, y));
    });
    hp::language_head{.vocabulary = 32}(m, x, labels);
  }
};
struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
using strategy = hp::strategy<mesh, hp::fully_sharded<"dp", 3>, hp::tensor_parallel<"tp">>;
using step = hp::train_step<model, strategy, hp::adamw, hp::matrix384>;
static_assert(step::verified);

inline std::vector<std::int32_t> numbers() { return std::vector<std::int32_t>(32, 1); }

}  // namespace planned
