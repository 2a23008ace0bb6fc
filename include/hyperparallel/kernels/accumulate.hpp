// SPDX-License-Identifier: Apache-2.0
#pragma once
// The weighted sum that ends a mixture of experts, one group of rows at a time.
//
// Law: each call adds its rows in list order with every product and sum rounded by itself, so a token's sum depends on
// the order of the calls and lists alone: rising expert number, in every strategy.

#include <cstdint>

#include <hyperparallel/kernels/row_arithmetic.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 {

/// A routed row: which local token it belongs to and what it counts.
struct routed_row {
  int token;
  float weight;
};

/// to[row[i].token] += row[i].weight · from[i], columns [0, width). Pitches in elements; from and to do not overlap.
HYPERPARALLEL_EXACT inline void accumulate_rows(std::int64_t rows, std::int64_t width, const float* from,
                                                std::int64_t pitch_from, const routed_row* row, float* to,
                                                std::int64_t pitch_to) {
  HYPERPARALLEL_EXACT_BODY
  for (std::int64_t i = 0; i < rows; ++i)
    kernels::add_scaled_row(width, row[i].weight, from + i * pitch_from, to + row[i].token * pitch_to);
}

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
