// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix product of row-major float blocks: C[m×n] = A[m×k] · B[k×n], or C += A · B.
//
// Law: element (i, j) is the sum of sums over 256 consecutive terms that blocked_product.hpp states. Nothing in it depends
// on m, n or the position in a tile, hence any tiling of the rows and columns, and any split of k into accumulating parts
// of multiples of 256 terms, gives bit-equal results.

#include <cstdint>

#include <hyperparallel/kernels/blocked_product.hpp>

namespace hyperparallel { inline namespace v0_2 {

using gemm_mode = kernels::product_mode;

/// Leading dimensions are elements from row to row. Domain: m, n, k ≥ 0, C overlaps neither A nor B. O(m·n·k).
inline void gemm(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lead_a, const float* b,
                 std::int64_t lead_b, float* c, std::int64_t lead_c, gemm_mode mode = gemm_mode::overwrite) {
  using matrix = kernels::detail::even_matrix<const float>;
  if (k > 0)
    kernels::detail::blocked_product<float>(m, n, k, matrix{a, {lead_a}, {1}}, matrix{b, {lead_b}, {1}},
                                            kernels::detail::even_matrix<float>{c, {lead_c}, {1}}, mode);
  for (std::int64_t i = 0; k == 0 && mode == gemm_mode::overwrite && i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) c[i * lead_c + j] = 0.0F;
}

}}  // namespace hyperparallel::v0_2
