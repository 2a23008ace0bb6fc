// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix product of row-major float blocks: C[m×n] = A[m×k] · B[k×n], or C += A · B.
//
// Law: element (i, j) is the left-to-right sum over k of single-rounded products, started from 0 (or from C). Nothing
// in it depends on m, n or the position in a tile, hence any tiling of the rows and columns, and any split of k into
// consecutive accumulating parts, gives bit-equal results.

#include <cstdint>

#include <hyperparallel/kernels/blocked_product.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class gemm_mode { overwrite, accumulate };

namespace detail {

/// A and B are read at data[i · row + p · column], data[p · row + j · column].
inline void gemm_of(std::int64_t m, std::int64_t n, std::int64_t k, const kernels::even_matrix<const float>& a,
                    const kernels::even_matrix<const float>& b, float* c, std::int64_t lead_c, gemm_mode mode) {
  const bool add = mode == gemm_mode::accumulate;
  if (k > 0)
    kernels::blocked_product<float, kernels::product_law::in_order>(
        m, n, k, a, b, kernels::even_matrix<float>{c, {lead_c}, {1}},
        add ? kernels::product_mode::accumulate : kernels::product_mode::overwrite);
  for (std::int64_t i = 0; k == 0 && !add && i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) c[i * lead_c + j] = 0.0F;
}

}  // namespace detail

/// Leading dimensions are elements from row to row. Domain: m, n, k ≥ 0, C overlaps neither A nor B. O(m·n·k).
inline void gemm(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lead_a, const float* b,
                 std::int64_t lead_b, float* c, std::int64_t lead_c, gemm_mode mode = gemm_mode::overwrite) {
  detail::gemm_of(m, n, k, {a, {lead_a}, {1}}, {b, {lead_b}, {1}}, c, lead_c, mode);
}

}}  // namespace hyperparallel::v0_2
