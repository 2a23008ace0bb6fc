// SPDX-License-Identifier: Apache-2.0
#pragma once
// Feed-forward layers.
//
//   swiglu_layer   down · (silu(gate · x) ⊙ (up · x))      gelu_layer        down · gelu(up · x)
//   geglu_layer    down · (gelu(gate · x) ⊙ (up · x))      gelu_tanh_layer   the same with GELU by tanh, as geglu_layer has
//
// Shapes: x (…, hidden) -> the same; "name.gate.weight" and "name.up.weight" (hidden, width), "name.down.weight"
// (width, hidden), where the width is a named dim, "ffn" by default; with `bias` a ".bias" beside each. Sources: Shazeer, "GLU variants improve
// transformer", 2020; Hendrycks & Gimpel, "Gaussian error linear units", 2016.

#include <hyperparallel/layers/linear.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// `Activation` is an operator of gate and up.
template <class Activation>
struct gated_layer {
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
      const int activation = m.apply<Activation>("activation", {gate, up});
      return linear_layer{.name = "down", .output = {hidden}, .bias = bias}(m, activation);
    });
  }
};

using swiglu_layer = gated_layer<ops::swiglu>;
using geglu_layer = gated_layer<ops::geglu>;

/// `Activation` is an operator of one operand.
template <class Activation>
struct plain_layer {
  const char* name = "feed_forward";
  extent_t width = 1;
  const char* width_dim = "ffn";
  bool bias = false;

  constexpr int operator()(model_builder& m, int x) const {
    if (!has_rank(m, name, x, 1)) return -1;
    const int wide = m.dim(width_dim, width), hidden = dim_from_end(m, x, 0);
    return m.scope(name, [&] {
      const int activation =
          m.apply<Activation>("activation", {linear_layer{.name = "up", .output = {wide}, .bias = bias}(m, x)});
      return linear_layer{.name = "down", .output = {hidden}, .bias = bias}(m, activation);
    });
  }
};

/// max(up · x, 0)².
using squared_relu_layer = plain_layer<ops::squared_relu>;
using gelu_layer = plain_layer<ops::gelu>;
using gelu_tanh_layer = plain_layer<ops::gelu_tanh>;

}}  // namespace hyperparallel::v0_2
