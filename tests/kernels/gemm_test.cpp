// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/gemm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "gemm_check.hpp"

namespace {

namespace hp = hyperparallel;
using hp::testing_gemm::check_against_double;
using hp::testing_gemm::noise;
using std::int64_t;

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(Gemm, AgreesWithDoublePrecision) { check_against_double(hp::gemm); }

TEST(Gemm, IsTheLeftToRightSumOfRoundedProducts) {
  const int64_t m = 6, n = 19, k = 50;
  const std::vector<float> a = noise(m * k, 4), b = noise(k * n, 5);
  std::vector<float> c(static_cast<std::size_t>(m * n)), expected(c.size());
  hp::gemm(m, n, k, a.data(), k, b.data(), n, c.data(), n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      volatile float sum = 0.0F;  // volatile: every product and every sum is rounded by itself
      for (int64_t p = 0; p < k; ++p) {
        volatile float product = a[static_cast<std::size_t>(i * k + p)] * b[static_cast<std::size_t>(p * n + j)];
        sum = sum + product;
      }
      expected[static_cast<std::size_t>(i * n + j)] = sum;
    }
  EXPECT_TRUE(same_bits(c, expected));
}

// The law: tile heights, widths and depths of every size, at every place, give the bits of the undivided product.
TEST(Gemm, AnyTilingGivesTheSameBits) {
  const int64_t m = 13, n = 27, k = 24;
  const std::vector<float> a = noise(m * k, 6), b = noise(k * n, 7);
  std::vector<float> whole(static_cast<std::size_t>(m * n));
  hp::gemm(m, n, k, a.data(), k, b.data(), n, whole.data(), n);
  for (int64_t tile_m = 1; tile_m <= m; ++tile_m)
    for (int64_t tile_n = 1; tile_n <= n; ++tile_n)
      for (const int64_t tile_k : {1, 5, 8, 23, 24}) {
        std::vector<float> c(whole.size(), NAN);
        for (int64_t i = 0; i < m; i += tile_m)
          for (int64_t j = 0; j < n; j += tile_n)
            for (int64_t p = 0; p < k; p += tile_k)
              hp::gemm(std::min(tile_m, m - i), std::min(tile_n, n - j), std::min(tile_k, k - p), a.data() + i * k + p,
                       k, b.data() + p * n + j, n, c.data() + i * n + j, n,
                       p == 0 ? hp::gemm_mode::overwrite : hp::gemm_mode::accumulate);
        ASSERT_TRUE(same_bits(c, whole)) << tile_m << "x" << tile_n << "x" << tile_k;
      }
}

// Depths around the panel's 256 terms, rows of operands far apart: the left-to-right sum.
TEST(Gemm, IsTheSumInOrderAcrossPanels) {
  const std::vector<float> a = noise(9 * 600, 8), b = noise(600 * 64, 9);
  for (const int64_t m : {1, 5, 9})
    for (const int64_t n : {1, 8, 21, 40})
      for (const int64_t k : {0, 1, 255, 256, 257, 600})
        for (const int64_t lead : {40, 64})
          for (const hp::gemm_mode mode : {hp::gemm_mode::overwrite, hp::gemm_mode::accumulate}) {
            const std::vector<float> before = noise(m * n, 10);
            std::vector<float> c = before, expected = before;
            hp::gemm(m, n, k, a.data(), k, b.data(), lead, c.data(), n, mode);
            for (int64_t i = 0; i < m; ++i)
              for (int64_t j = 0; j < n; ++j) {
                volatile float sum =
                    mode == hp::gemm_mode::accumulate ? before[static_cast<std::size_t>(i * n + j)] : 0;
                for (int64_t p = 0; p < k; ++p) {
                  volatile float product =
                      a[static_cast<std::size_t>(i * k + p)] * b[static_cast<std::size_t>(p * lead + j)];
                  sum = sum + product;
                }
                expected[static_cast<std::size_t>(i * n + j)] = sum;
              }
            ASSERT_TRUE(same_bits(c, expected)) << m << "x" << n << "x" << k << " rows " << lead << " apart";
          }
}

}  // namespace
