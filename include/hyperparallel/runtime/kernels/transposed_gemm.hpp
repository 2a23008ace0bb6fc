// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix products with a transposed operand, as the gradients of C = A · B need them:
//
//   gemm_nt   C[m×n] = A[m×k] · B[n×k]ᵀ                          dA = dC · Bᵀ: the gradient of activations
//   gemm_tn   C[m×n] = Σ over rows r of A[r, ·]ᵀ · B[r, ·]       dB = Aᵀ · dC: the gradient of a weight
//
// Law: both are the `gemm` of the transposed copy, bit for bit: element (i, j) is the left-to-right sum of
// single-rounded products, over k or over the rows in list order, started from 0 (or from C). Hence any tiling of m and
// n, any cut of k or of the rows into accumulating parts and any cut of rows into segments gives the same bits.
// Order of a weight's gradient: list an expert's rows by rising source device and, within it, by rising position. That
// is the order of the tokens in the whole batch, so one device and many sum in the same order.
// Operands are packed into panels on the stack, 8 and 38 KiB, and the block product of gemm.hpp does all arithmetic.

#include <cstdint>

#include <hyperparallel/runtime/kernels/exact.hpp>
#include <hyperparallel/runtime/kernels/gemm.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel::inline v0_2 {

/// Rows of two operands that belong together: rows of `a` are lead_a apart, rows of `b` lead_b. Domain: rows ≥ 0; of
/// no rows the pointers are not read.
struct row_segment {
  const float* a = nullptr;
  const float* b = nullptr;
  std::int64_t rows = 0;
};

/// C[m×n] = A[m×k] · B[n×k]ᵀ, or C += A · Bᵀ. A tile of columns [j, j + n) of C needs rows [j, j + n) of B.
/// Domain: as `gemm`. O(m·n·k).
inline void gemm_nt(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lead_a, const float* b,
                    std::int64_t lead_b, float* c, std::int64_t lead_c, gemm_mode mode = gemm_mode::overwrite) {
  detail::gemm_packed(m, n, k, a, lead_a, c, lead_c, mode,
                      [&](std::int64_t p, std::int64_t terms, std::int64_t j, std::int64_t columns, float* to) {
                        for (std::int64_t s = 0; s < columns; ++s)
                          for (std::int64_t r = 0; r < terms; ++r)
                            to[r * detail::gemm_columns + s] = b[(j + s) * lead_b + p + r];
                      });
}

namespace detail {

/// Rows waiting to be multiplied. Short segments share a panel, so that C is read and written once for many of them.
struct row_panel {
  static constexpr std::int64_t depth = 128, height = 64, strip = gemm_columns;
  const float* a[depth];
  const float* b[depth];
  std::int64_t rows = 0;

  /// C[m×n] = or += the product of the rows that wait.
  void multiply(std::int64_t m, std::int64_t n, float* c, std::int64_t lead_c, gemm_mode mode) const {
    float left[height * depth], right[depth * strip];
    for (std::int64_t i = 0; i < m; i += height) {
      const std::int64_t lines = m - i < height ? m - i : height;
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t s = 0; s < lines; ++s) left[s * depth + r] = a[r][i + s];
      for (std::int64_t j = 0; j < n; j += strip) {
        const std::int64_t columns = n - j < strip ? n - j : strip;
        for (std::int64_t r = 0; r < rows; ++r) copy_strip(right + r * strip, b[r] + j, columns);
        gemm_block(lines, columns, rows, left, depth, right, strip, c + i * lead_c + j, lead_c, mode);
      }
    }
  }
};

}  // namespace detail

/// C[m×n] = Σ over the segments' rows, in list order, of A[r, ·]ᵀ · B[r, ·], or C += that sum; no rows give zeros. For
/// the tile of C at (i, j) the segments point at column i of A's rows and column j of B's. Domain: m, n ≥ 0, C overlaps
/// no row. O(m·n·rows).
inline void gemm_tn(std::int64_t m, std::int64_t n, const row_segment* segment, std::int64_t segments,
                    std::int64_t lead_a, std::int64_t lead_b, float* c, std::int64_t lead_c,
                    gemm_mode mode = gemm_mode::overwrite) {
  detail::row_panel panel;
  for (std::int64_t s = 0; s < segments; ++s)
    for (std::int64_t r = 0; r < segment[s].rows; ++r) {
      if (panel.rows == detail::row_panel::depth) {
        panel.multiply(m, n, c, lead_c, mode);
        panel.rows = 0;
        mode = gemm_mode::accumulate;
      }
      panel.a[panel.rows] = segment[s].a + r * lead_a;
      panel.b[panel.rows] = segment[s].b + r * lead_b;
      ++panel.rows;
    }
  if (panel.rows > 0 || mode == gemm_mode::overwrite) panel.multiply(m, n, c, lead_c, mode);
}

}  // namespace hyperparallel::inline v0_2

HYPERPARALLEL_EXACT_END
