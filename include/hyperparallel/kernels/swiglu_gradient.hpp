// SPDX-License-Identifier: Apache-2.0
#pragma once
// The gradient of SwiGLU over packed rows. With s = 1 / (1 + e^-gate) and d the gradient of out = gate · s · up:
//
//   d gate = d · up · s · (1 + gate · (1 − s))          d up = d · gate · s
//
// Law: each pair of output elements depends on its three inputs alone, so any tiling gives bit-equal results. Where
// e^-gate overflows, s is 0 and so are both gradients; 1 − s and not s · e^-gate, for that would be 0 · ∞.

#include <cstdint>

#include <hyperparallel/kernels/elementwise_functions.hpp>
#include <hyperparallel/kernels/exact.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 {

/// `in` and `gradient_in` are rows of gate | up, each `width` long; `gradient_out` rows of `width`. Pitches are
/// elements from row to row. Domain: gradient_in is `in` itself (with its pitch) or overlaps no operand.
HYPERPARALLEL_EXACT inline void swiglu_gradient(std::int64_t rows, std::int64_t width, const float* in,
                                                std::int64_t pitch_in, const float* gradient_out,
                                                std::int64_t pitch_out, float* gradient_in,
                                                std::int64_t pitch_gradient_in) {
  HYPERPARALLEL_EXACT_BODY
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* const gate = in + r * pitch_in;
    const float* const up = gate + width;
    const float* const from = gradient_out + r * pitch_out;
    float* const to_gate = gradient_in + r * pitch_gradient_in;
    float* const to_up = to_gate + width;
    for (std::int64_t i = 0; i < width; ++i) {
      const float g = gate[i], u = up[i], d = from[i];
      to_gate[i] = kernels::functions::silu_gradient::of(d * u, g);
      to_up[i] = d * kernels::functions::silu::of(g);
    }
  }
}

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
