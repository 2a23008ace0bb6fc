// SPDX-License-Identifier: Apache-2.0
#pragma once
// Feed-forward layers.
//
//   swiglu_layer   down · (silu(gate · x) ⊙ (up · x))      gelu_layer   down · gelu(up · x)
//
// Shapes: x (…, hidden) -> the same; "name.gate.weight" and "name.up.weight" (hidden, width), "name.down.weight"
// (width, hidden), where the width is a named dim, "ffn" by default; with `bias` a ".bias" beside each. Sources: Shazeer, "GLU variants improve
// transformer", 2020; Hendrycks & Gimpel, "Gaussian error linear units", 2016.

#include <hyperparallel/layers/linear.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct swiglu_layer {
  const char* name = "feed_forward";
  extent_t width = 1;
  const char* width_dim = "ffn";
  bool bias = false;

  constexpr int operator()(model_builder& m, int x) const {
    if (!has_rank(m, name, x, 1)) return -1;
    const int wide = m.dim(width_dim, width), hidden = dim_from_end(m, x, 0);
    return m.scope(name, [&] {
      const int gate = linear_layer{.name = "gate", .output = {wide}, .bias = bias}(m, x);
      const int up = linear_layer{.name = "up", .output = {wide}, .bias = bias}(m, x);
      const int activation = m.apply<ops::swiglu>("activation", {gate, up});
      return linear_layer{.name = "down", .output = {hidden}, .bias = bias}(m, activation);
    });
  }
};

struct gelu_layer {
  const char* name = "feed_forward";
  extent_t width = 1;
  const char* width_dim = "ffn";
  bool bias = false;

  constexpr int operator()(model_builder& m, int x) const {
    if (!has_rank(m, name, x, 1)) return -1;
    const int wide = m.dim(width_dim, width), hidden = dim_from_end(m, x, 0);
    return m.scope(name, [&] {
      const int activation =
          m.apply<ops::gelu>("activation", {linear_layer{.name = "up", .output = {wide}, .bias = bias}(m, x)});
      return linear_layer{.name = "down", .output = {hidden}, .bias = bias}(m, activation);
    });
  }
};

}}  // namespace hyperparallel::v0_2
