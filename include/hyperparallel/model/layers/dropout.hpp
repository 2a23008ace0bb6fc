// SPDX-License-Identifier: Apache-2.0
#pragma once
// Dropout of activations: "name" tells its random numbers apart from other layers', `seed` runs from each other.
//
// Law: the same elements are dropped under every strategy; another training step drops others. Rate 0 adds nothing.

#include <hyperparallel/model/layers/layer_input.hpp>

namespace hyperparallel::inline v0_2 {

struct dropout_layer {
  const char* name = "dropout";
  double rate = 0.1;  ///< in [0, 1)
  extent_t seed = 0;

  constexpr int operator()(model_builder& m, int x) const {
    if (rate <= 0 || !has_rank(m, name, x, 0)) return x;
    return m.apply<ops::dropout>(name, {x},
                                 {.integer = {key_of(m.graph.text_at(m.scoped(name))), seed}, .real = {rate}});
  }

 private:
  /// Of the full name (FNV-1a).
  static constexpr extent_t key_of(const char* text) {
    std::uint64_t h = 0xcbf29ce484222325U;
    for (; *text != '\0'; ++text) h = (h ^ static_cast<unsigned char>(*text)) * 0x100000001b3U;
    return static_cast<extent_t>(h >> 1);
  }
};

}  // namespace hyperparallel::inline v0_2
