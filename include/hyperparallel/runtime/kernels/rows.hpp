// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moving rows by index: gather, scatter, and the weighted combine that ends a mixture of experts.
//
// Law: `combine_rows` adds its k sources strictly in the order of the list, each product rounded by itself, starting
// from 0; so a token's result depends neither on which rank computed the rows nor on how tokens are split.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hyperparallel/runtime/kernels/exact.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel::inline v0_2 {

/// A row number below zero means that there is no row.
inline constexpr std::int64_t no_row = -1;

/// to[i] = from[row[i]] for i < rows; `no_row` gives zeros. Pitches in elements. Domain: from and to do not overlap.
inline void gather_rows(std::int64_t rows, std::int64_t width, const float* from, std::int64_t pitch_from,
                        const std::int64_t* row, float* to, std::int64_t pitch_to) {
  const std::size_t bytes = static_cast<std::size_t>(width) * sizeof(float);
  for (std::int64_t i = 0; i < rows; ++i) {
    float* const target = to + i * pitch_to;
    if (row[i] < 0)
      std::memset(target, 0, bytes);
    else
      std::memcpy(target, from + row[i] * pitch_from, bytes);
  }
}

/// to[row[i]] = from[i] for i < rows; `no_row` skips. Domain: no row is named twice, from and to do not overlap.
inline void scatter_rows(std::int64_t rows, std::int64_t width, const float* from, std::int64_t pitch_from,
                         const std::int64_t* row, float* to, std::int64_t pitch_to) {
  const std::size_t bytes = static_cast<std::size_t>(width) * sizeof(float);
  for (std::int64_t i = 0; i < rows; ++i)
    if (row[i] >= 0) std::memcpy(to + row[i] * pitch_to, from + i * pitch_from, bytes);
}

/// to[i] = Σ over j < k, in order, of weight[i·k + j] · from[row[i·k + j]]; `no_row` adds nothing.
/// Domain: from and to do not overlap.
HYPERPARALLEL_EXACT inline void combine_rows(std::int64_t rows, std::int64_t width, int k, const float* from,
                                             std::int64_t pitch_from, const std::int64_t* row, const float* weight,
                                             float* to, std::int64_t pitch_to) {
  HYPERPARALLEL_EXACT_BODY
  for (std::int64_t i = 0; i < rows; ++i) {
    float* const sum = to + i * pitch_to;
    for (std::int64_t c = 0; c < width; ++c) sum[c] = 0.0F;
    for (std::int64_t j = i * k; j < (i + 1) * k; ++j) {
      if (row[j] < 0) continue;
      const float* const source = from + row[j] * pitch_from;
      const float by = weight[j];
      for (std::int64_t c = 0; c < width; ++c) sum[c] += by * source[c];
    }
  }
}

}  // namespace hyperparallel::inline v0_2

HYPERPARALLEL_EXACT_END
