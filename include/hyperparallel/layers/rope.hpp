// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rotary position embedding: turns the pairs (i, i + D/2) of the last dim by position · base^(-2i/D).
//
// Shapes: x (batch, seq, …, head_dim) -> the same; no parameters. Law: the product of a rotated query and a rotated key
// depends on their distance alone. Source: Su et al., "RoFormer", 2021, with pairs half a head apart.

#include <hyperparallel/layers/layer_input.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct rotary_layer {
  const char* name = "rotated";
  double base = 10000.0;

  constexpr int operator()(model_builder& m, int x) const {
    if (!has_rank(m, name, x, 3)) return -1;
    return m.apply<ops::rope>(name, {x}, {.integer = {1}, .real = {base}});
  }
};

}}  // namespace hyperparallel::v0_2
