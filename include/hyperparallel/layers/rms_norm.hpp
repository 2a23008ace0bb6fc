// SPDX-License-Identifier: Apache-2.0
#pragma once
// Root-mean-square normalisation over the last dim: x / sqrt(mean(x²) + epsilon) · weight.
//
// Shapes: x (…, hidden) -> the same; "name.weight" (hidden). Source: Zhang & Sennrich, "Root Mean Square Layer
// Normalization", 2019.

#include <hyperparallel/layers/layer_input.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct rms_norm_layer {
  const char* name = "norm";
  double epsilon = 1e-6;

  constexpr int operator()(model_builder& m, int x) const {
    if (!has_rank(m, name, x, 1)) return -1;
    const int weight = m.scope(name, [&] { return m.parameter("weight", {dim_from_end(m, x, 0)}); });
    return m.apply<ops::rms_norm>(name, {x, weight}, {.real = {epsilon}});
  }
};

}}  // namespace hyperparallel::v0_2
