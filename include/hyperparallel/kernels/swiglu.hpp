// SPDX-License-Identifier: Apache-2.0
#pragma once
// SwiGLU over packed rows: out = silu(gate) · up, silu(x) = x / (1 + e^-x).
//
// A row of the input is gate | up, each `width` long: what one product with a packed weight leaves behind.
// Law: each output element depends on its two inputs alone, so any tiling gives bit-equal results.

#include <cstdint>

#include <hyperparallel/kernels/elementwise_functions.hpp>
#include <hyperparallel/kernels/exact.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 {

/// `pitch_in` ≥ 2·width and `pitch_out` ≥ width are elements from row to row. Domain: out does not overlap in.
HYPERPARALLEL_EXACT inline void swiglu(std::int64_t rows, std::int64_t width, const float* in, std::int64_t pitch_in,
                                       float* out, std::int64_t pitch_out) {
  HYPERPARALLEL_EXACT_BODY
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* const gate = in + r * pitch_in;
    const float* const up = gate + width;
    float* const to = out + r * pitch_out;
    for (std::int64_t i = 0; i < width; ++i) to[i] = kernels::functions::silu::of(gate[i]) * up[i];
  }
}

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
