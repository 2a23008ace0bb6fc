// SPDX-License-Identifier: Apache-2.0
#pragma once
// Dropout of activations. Random numbers are keyed by the layer's full name and by `seed`: other layers and other seeds
// drop other elements.
//
// Law: the same elements are dropped under every strategy; another training step drops others. Rate 0 adds nothing.

#include <hyperparallel/layers/layer_input.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct dropout_layer {
  const char* name = "dropout";
  double rate = 0.1;  ///< in [0, 1)
  extent_t seed = 0;

  constexpr int operator()(model_builder& m, int x) const {
    if (rate == 0 || !has_rank(m, name, x, 0)) return x;
    if (!(rate >= 0 && rate < 1)) {
      m.graph.fail({graph_code::dropout_rate_is_out_of_range, m.scoped(name), -1, 0, 0, 0, 0, rate});
      return -1;
    }
    const auto key = static_cast<extent_t>(detail::hash_of_text(m.graph.text_at(m.scoped(name))) >> 1);
    return m.apply<ops::dropout>(name, {x}, {.integer = {key, seed}, .real = {rate}});
  }
};

}}  // namespace hyperparallel::v0_2
