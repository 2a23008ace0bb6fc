// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every back end's matrix product is held against.

#include <hyperparallel/kernels/gemm.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/noise.hpp"

namespace hyperparallel::testing_gemm {

using kernel_test::noise;
using std::int64_t;

/// Error of k single-rounded steps against double precision, with |a|·|b| as the scale.
template <class Gemm>
void check_against_double(const Gemm& multiply) {
  for (const int64_t m : {0, 1, 3, 4, 5, 9})
    for (const int64_t n : {0, 1, 7, 8, 9, 17})
      for (const int64_t k : {0, 1, 2, 33}) {
        const int64_t lead_a = k + 2, lead_b = n + 3, lead_c = n + 1;
        const std::vector<float> a = noise(m * lead_a, 1), b = noise(k * lead_b, 2);
        for (const gemm_mode mode : {gemm_mode::overwrite, gemm_mode::accumulate}) {
          const std::vector<float> before = noise(m * lead_c, 3);
          std::vector<float> c = before;
          multiply(m, n, k, a.data(), lead_a, b.data(), lead_b, c.data(), lead_c, mode);
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < lead_c; ++j) {
              const std::size_t at = static_cast<std::size_t>(i * lead_c + j);
              double exact = mode == gemm_mode::accumulate || j >= n ? static_cast<double>(before[at]) : 0.0;
              double scale = std::abs(exact);
              for (int64_t p = 0; j < n && p < k; ++p) {
                const double product = static_cast<double>(a[static_cast<std::size_t>(i * lead_a + p)]) *
                                       static_cast<double>(b[static_cast<std::size_t>(p * lead_b + j)]);
                exact += product;
                scale += std::abs(product);
              }
              ASSERT_LE(std::abs(static_cast<double>(c[at]) - exact), static_cast<double>(k + 1) * 1.2e-7 * scale)
                  << m << "x" << n << "x" << k << " at " << i << "," << j;
              if (j >= n) {
                ASSERT_EQ(c[at], before[at]) << "wrote past its columns";
              }
            }
        }
      }
}

}  // namespace hyperparallel::testing_gemm
