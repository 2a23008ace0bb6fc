// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the backward pass of a mixture of experts does to routed rows. The forward pass sends row token[i] to an expert
// and adds weight[i] times the expert's result y[i] to the token's output, so with dY the gradient of the output:
//
//   scale_rows   weight[i] · dY[token[i]]      gradient of y[i], the row that goes out to the expert
//   dot_rows     ⟨dY[token[i]], y[i]⟩          gradient of weight[i]: of the router's probability
//   add_rows     dX[token[i]] += dx[i]         gradient of the token, from the row that the expert sends back
//
// Law: every product and sum is rounded by itself, rows in list order and columns from left to right, so any split of
// the rows, and any split of the columns into parts taken in order, gives bit-equal results. As in `accumulate_rows`, a
// token's sum depends on the order of the calls and lists alone: rising expert number.

#include <cstdint>

#include <hyperparallel/kernels/accumulate.hpp>
#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/gemm.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 {

/// to[i] = row[i].weight · from[row[i].token], columns [0, width). Pitches in elements; from and to do not overlap.
inline void scale_rows(std::int64_t rows, std::int64_t width, const float* from, std::int64_t pitch_from,
                       const routed_row* row, float* to, std::int64_t pitch_to) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* const source = from + row[i].token * pitch_from;
    float* const target = to + i * pitch_to;
    const float by = row[i].weight;
    for (std::int64_t c = 0; c < width; ++c) target[c] = by * source[c];
  }
}

/// out[i] = ⟨a[row[i].token], b[i]⟩ over columns [0, width), or out[i] += that, the products one by one: later columns
/// of the same rows. Weights are not read. Domain: out overlaps neither a nor b. Four rows at a time hide the latency
/// of the sums.
HYPERPARALLEL_EXACT inline void dot_rows(std::int64_t rows, std::int64_t width, const float* a, std::int64_t pitch_a,
                                         const routed_row* row, const float* b, std::int64_t pitch_b, float* out,
                                         gemm_mode mode = gemm_mode::overwrite) {
  HYPERPARALLEL_EXACT_BODY
  constexpr std::int64_t together = 4;
  for (std::int64_t i = 0; i < rows; i += together) {
    const std::int64_t last = rows - 1 - i;  // past it the last row is computed again and dropped
    const std::int64_t at[together] = {i, i + (last < 1 ? last : 1), i + (last < 2 ? last : 2),
                                       i + (last < 3 ? last : 3)};
    const float *const a0 = a + row[at[0]].token * pitch_a, *const b0 = b + at[0] * pitch_b;
    const float *const a1 = a + row[at[1]].token * pitch_a, *const b1 = b + at[1] * pitch_b;
    const float *const a2 = a + row[at[2]].token * pitch_a, *const b2 = b + at[2] * pitch_b;
    const float *const a3 = a + row[at[3]].token * pitch_a, *const b3 = b + at[3] * pitch_b;
    float sum[together] = {};
    if (mode == gemm_mode::accumulate)
      for (std::int64_t r = 0; r < together; ++r) sum[r] = out[at[r]];
    float sum0 = sum[0], sum1 = sum[1], sum2 = sum[2], sum3 = sum[3];
    for (std::int64_t c = 0; c < width; ++c) {
      sum0 += a0[c] * b0[c];
      sum1 += a1[c] * b1[c];
      sum2 += a2[c] * b2[c];
      sum3 += a3[c] * b3[c];
    }
    sum[0] = sum0, sum[1] = sum1, sum[2] = sum2, sum[3] = sum3;
    for (std::int64_t r = 0; r < together && r <= last; ++r) out[i + r] = sum[r];
  }
}

/// to[row[i].token] += from[i], columns [0, width). Weights are not read. Domain: from and to do not overlap.
inline void add_rows(std::int64_t rows, std::int64_t width, const float* from, std::int64_t pitch_from,
                     const routed_row* row, float* to, std::int64_t pitch_to) {
  for (std::int64_t i = 0; i < rows; ++i) kernels::add_row(width, from + i * pitch_from, to + row[i].token * pitch_to);
}

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
