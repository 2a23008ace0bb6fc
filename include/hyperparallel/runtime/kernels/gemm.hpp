// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix product of row-major float blocks: C[m×n] = A[m×k] · B[k×n], or C += A · B.
//
// Law: element (i, j) is the left-to-right sum over k of single-rounded products, started from 0 (or from C). Nothing
// in it depends on m, n or the position in a tile, hence any tiling of the rows and columns, and any split of k into
// consecutive accumulating parts, gives bit-equal results.
// Blocks of 4 rows × 8 columns stay in registers; lanes are columns, so vector width does not touch the order of a sum.
// A right operand that outgrows a first-level cache is packed strip by strip into 8 KiB of stack: rows that are a power
// of two apart would fight for the same cache sets.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hyperparallel/runtime/kernels/exact.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel::inline v0_2 {

enum class gemm_mode { overwrite, accumulate };

namespace detail {

inline constexpr int gemm_rows = 4;
inline constexpr int gemm_columns = 8;
using gemm_lanes = float __attribute__((vector_size(gemm_columns * sizeof(float))));

/// One row of a packed strip: the first `columns` ≤ gemm_columns elements of `from`.
inline void copy_strip(float* to, const float* from, std::int64_t columns) {
  if (columns == gemm_columns)
    std::memcpy(to, from, gemm_columns * sizeof(float));
  else
    std::memcpy(to, from, static_cast<std::size_t>(columns) * sizeof(float));
}

/// `gemm` on operands as they lie; all arithmetic is here.
HYPERPARALLEL_EXACT inline void gemm_block(std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
                                           std::int64_t lead_a, const float* b, std::int64_t lead_b, float* c,
                                           std::int64_t lead_c, gemm_mode mode) {
  HYPERPARALLEL_EXACT_BODY
  using lanes = gemm_lanes;
  constexpr int rows = gemm_rows;
  constexpr int columns = gemm_columns;
  const std::int64_t full_m = m - m % rows;
  const std::int64_t full_n = n - n % columns;
  const bool add = mode == gemm_mode::accumulate;

  for (std::int64_t j = 0; j < full_n; j += columns)
    for (std::int64_t i = 0; i < full_m; i += rows) {
      lanes sum0 = {}, sum1 = {}, sum2 = {}, sum3 = {};
      float* const out = c + i * lead_c + j;
      if (add) {
        std::memcpy(&sum0, out, sizeof sum0);
        std::memcpy(&sum1, out + lead_c, sizeof sum1);
        std::memcpy(&sum2, out + 2 * lead_c, sizeof sum2);
        std::memcpy(&sum3, out + 3 * lead_c, sizeof sum3);
      }
      const float* const left = a + i * lead_a;
      const float* right = b + j;
      for (std::int64_t p = 0; p < k; ++p, right += lead_b) {
        lanes line;
        std::memcpy(&line, right, sizeof line);
        sum0 += line * left[p];
        sum1 += line * left[p + lead_a];
        sum2 += line * left[p + 2 * lead_a];
        sum3 += line * left[p + 3 * lead_a];
      }
      std::memcpy(out, &sum0, sizeof sum0);
      std::memcpy(out + lead_c, &sum1, sizeof sum1);
      std::memcpy(out + 2 * lead_c, &sum2, sizeof sum2);
      std::memcpy(out + 3 * lead_c, &sum3, sizeof sum3);
    }

  for (std::int64_t i = full_m; i < m; ++i)
    for (std::int64_t j = 0; j < full_n; j += columns) {
      lanes sum = {};
      if (add) std::memcpy(&sum, c + i * lead_c + j, sizeof sum);
      for (std::int64_t p = 0; p < k; ++p) {
        lanes line;
        std::memcpy(&line, b + p * lead_b + j, sizeof line);
        sum += line * a[i * lead_a + p];
      }
      std::memcpy(c + i * lead_c + j, &sum, sizeof sum);
    }

  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = full_n; j < n; ++j) {
      float sum = add ? c[i * lead_c + j] : 0.0F;
      for (std::int64_t p = 0; p < k; ++p) sum += b[p * lead_b + j] * a[i * lead_a + p];
      c[i * lead_c + j] = sum;
    }
}

/// `gemm` with a right operand that is read through `pack(p, terms, j, columns, to)`: it copies rows [p, p + terms) of
/// columns [j, j + columns) to `to`, `gemm_columns` elements from row to row.
template <class Pack>
void gemm_packed(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lead_a, float* c,
                 std::int64_t lead_c, gemm_mode mode, const Pack& pack) {
  constexpr std::int64_t depth = 256, strip = gemm_columns;
  float right[depth * strip];
  for (std::int64_t j = 0; j < n; j += strip) {
    const std::int64_t columns = n - j < strip ? n - j : strip;
    gemm_mode part = mode;
    // An empty sum is one empty part, which overwrites with zeros.
    for (std::int64_t p = 0; p == 0 || p < k; p += depth, part = gemm_mode::accumulate) {
      const std::int64_t terms = k - p < depth ? k - p : depth;
      pack(p, terms, j, columns, right);
      gemm_block(m, columns, terms, a + p, lead_a, right, strip, c + j, lead_c, part);
    }
  }
}

}  // namespace detail

/// Leading dimensions are elements from row to row. Domain: m, n, k ≥ 0, C overlaps neither A nor B. O(m·n·k).
inline void gemm(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lead_a, const float* b,
                 std::int64_t lead_b, float* c, std::int64_t lead_c, gemm_mode mode = gemm_mode::overwrite) {
  constexpr std::int64_t cached = 8192;                  // elements in 32 KiB
  if (m <= detail::gemm_rows || k * lead_b <= cached) {  // read once, or at hand
    detail::gemm_block(m, n, k, a, lead_a, b, lead_b, c, lead_c, mode);
    return;
  }
  detail::gemm_packed(m, n, k, a, lead_a, c, lead_c, mode,
                      [&](std::int64_t p, std::int64_t terms, std::int64_t j, std::int64_t columns, float* to) {
                        for (std::int64_t r = 0; r < terms; ++r)
                          detail::copy_strip(to + r * detail::gemm_columns, b + (p + r) * lead_b + j, columns);
                      });
}

}  // namespace hyperparallel::inline v0_2

HYPERPARALLEL_EXACT_END
