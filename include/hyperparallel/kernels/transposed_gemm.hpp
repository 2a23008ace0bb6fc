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

#include <algorithm>
#include <cstdint>

#include <hyperparallel/kernels/gemm.hpp>
#include <hyperparallel/kernels/row_arithmetic.hpp>

namespace hyperparallel { inline namespace v0_2 {

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
  detail::gemm_of(m, n, k, {a, {lead_a}, {1}}, {b, {1}, {lead_b}}, c, lead_c, mode);
}

/// C[m×n] = Σ over the segments' rows, in list order, of A[r, ·]ᵀ · B[r, ·], or C += that sum; no rows give zeros. For
/// the tile of C at (i, j) the segments point at column i of A's rows and column j of B's. Short segments share a panel,
/// so that C is read and written once for many of them. Domain: m, n ≥ 0, C overlaps no row. O(m·n·rows).
inline void gemm_tn(std::int64_t m, std::int64_t n, const row_segment* segment, std::int64_t segments,
                    std::int64_t lead_a, std::int64_t lead_b, float* c, std::int64_t lead_c,
                    gemm_mode mode = gemm_mode::overwrite) {
  constexpr std::int64_t depth = 256;
  float* const left = kernels::thread_memory<float, 9>(depth * m);
  float* const right = kernels::thread_memory<float, 10>(depth * n);
  std::int64_t rows = 0;
  const auto multiply = [&] {
    detail::gemm_of(m, n, rows, {left, {1}, {m}}, {right, {n}, {1}}, c, lead_c, mode);
    rows = 0;
    mode = gemm_mode::accumulate;
  };
  for (std::int64_t s = 0; s < segments; ++s)
    for (std::int64_t r = 0; r < segment[s].rows; ++r) {
      if (rows == depth) multiply();
      std::copy_n(segment[s].a + r * lead_a, m, left + rows * m);
      std::copy_n(segment[s].b + r * lead_b, n, right + rows * n);
      ++rows;
    }
  if (rows > 0 || mode == gemm_mode::overwrite) multiply();
}

}}  // namespace hyperparallel::v0_2
