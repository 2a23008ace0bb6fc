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

// The law: tile heights and widths of every size, at every place, and depths of whole blocks give the bits of the undivided
// product.
TEST(Gemm, AnyTilingGivesTheSameBits) {
  const int64_t m = 7, n = 19, k = 520;
  const std::vector<float> a = noise(m * k, 6), b = noise(k * n, 7);
  std::vector<float> whole(static_cast<std::size_t>(m * n));
  hp::gemm(m, n, k, a.data(), k, b.data(), n, whole.data(), n);
  for (int64_t tile_m = 1; tile_m <= m; ++tile_m)
    for (int64_t tile_n = 1; tile_n <= n; ++tile_n)
      for (const int64_t tile_k : {256, 512, 520}) {
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

}  // namespace
