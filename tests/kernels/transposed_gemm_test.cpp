// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/transposed_gemm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "gemm_check.hpp"

namespace {

namespace hp = hyperparallel;
using hp::testing_gemm::check_against_double;
using hp::testing_gemm::noise;
using std::int64_t;
using std::size_t;

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// to[c · pitch + r] = from[r · lead + c].
std::vector<float> transposed(int64_t rows, int64_t columns, const float* from, int64_t lead, int64_t pitch) {
  std::vector<float> to(static_cast<size_t>(columns * pitch) + 1);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) to[static_cast<size_t>(c * pitch + r)] = from[r * lead + c];
  return to;
}

/// A list of segments over rows [0, rows) of a and b, each at most `most` long and now and then empty.
std::vector<hp::row_segment> cut(int64_t rows, int64_t most, const float* a, int64_t lead_a, const float* b,
                                 int64_t lead_b, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<hp::row_segment> list;
  for (int64_t r = 0; r < rows;) {
    const int64_t count = std::min<int64_t>(rows - r, static_cast<int64_t>(random() % static_cast<unsigned>(most + 1)));
    list.push_back({a + r * lead_a, b + r * lead_b, count});
    r += count;
  }
  list.push_back({nullptr, nullptr, 0});
  return list;
}

TEST(TransposedGemm, AgreesWithDoublePrecision) {
  check_against_double([](int64_t m, int64_t n, int64_t k, const float* a, int64_t lead_a, const float* b,
                          int64_t lead_b, float* c, int64_t lead_c, hp::gemm_mode mode) {
    const std::vector<float> bt = transposed(k, n, b, lead_b, k + 1);
    hp::gemm_nt(m, n, k, a, lead_a, bt.data(), k + 1, c, lead_c, mode);
  });
  check_against_double([](int64_t m, int64_t n, int64_t k, const float* a, int64_t lead_a, const float* b,
                          int64_t lead_b, float* c, int64_t lead_c, hp::gemm_mode mode) {
    const std::vector<float> at = transposed(m, k, a, lead_a, m + 2);
    const hp::row_segment all{at.data(), b, k};
    hp::gemm_tn(m, n, &all, 1, m + 2, lead_b, c, lead_c, mode);
  });
}

// The law that fixes the order of every sum: bits of the plain product of the transposed copy. Depths lie on both sides
// of one and of two panels (256 terms, 128 rows).
TEST(TransposedGemm, GivesTheBitsOfThePlainProductOfTheTransposedCopy) {
  int cases = 0;
  for (const int64_t m : {0, 1, 4, 7, 63, 64, 66})
    for (const int64_t n : {0, 1, 8, 13, 16})
      for (const int64_t k : {0, 1, 3, 127, 128, 129, 255, 256, 257, 300, 513})
        for (const hp::gemm_mode mode : {hp::gemm_mode::overwrite, hp::gemm_mode::accumulate}) {
          const std::vector<float> a = noise(m * k + 1, 1), b = noise(k * n + 1, 2), before = noise(m * n, 3);
          std::vector<float> plain = before, nt = before, tn = before;
          hp::gemm(m, n, k, a.data(), k, b.data(), n, plain.data(), n, mode);
          const std::vector<float> at = transposed(m, k, a.data(), k, m), bt = transposed(k, n, b.data(), n, k);
          hp::gemm_nt(m, n, k, a.data(), k, bt.data(), k, nt.data(), n, mode);
          const hp::row_segment all{at.data(), b.data(), k};
          hp::gemm_tn(m, n, &all, 1, m, n, tn.data(), n, mode);
          ASSERT_TRUE(same_bits(nt, plain)) << m << "x" << n << "x" << k;
          ASSERT_TRUE(same_bits(tn, plain)) << m << "x" << n << "x" << k;
          ++cases;
        }
  EXPECT_EQ(cases, 7 * 5 * 11 * 2);
}

TEST(TransposedGemm, AnyTilingOfNtGivesTheSameBits) {
  const int64_t m = 9, n = 21, k = 40;
  const std::vector<float> a = noise(m * k, 4), b = noise(n * k, 5);
  std::vector<float> whole(static_cast<size_t>(m * n));
  hp::gemm_nt(m, n, k, a.data(), k, b.data(), k, whole.data(), n);
  for (int64_t tile_m = 1; tile_m <= m; ++tile_m)
    for (int64_t tile_n = 1; tile_n <= n; ++tile_n)
      for (const int64_t tile_k : {1, 7, 39, 40}) {
        std::vector<float> c(whole.size(), NAN);
        for (int64_t i = 0; i < m; i += tile_m)
          for (int64_t j = 0; j < n; j += tile_n)
            for (int64_t p = 0; p < k; p += tile_k)
              hp::gemm_nt(std::min(tile_m, m - i), std::min(tile_n, n - j), std::min(tile_k, k - p),
                          a.data() + i * k + p, k, b.data() + j * k + p, k, c.data() + i * n + j, n,
                          p == 0 ? hp::gemm_mode::overwrite : hp::gemm_mode::accumulate);
        ASSERT_TRUE(same_bits(c, whole)) << tile_m << "x" << tile_n << "x" << tile_k;
      }
}

TEST(TransposedGemm, AnyTilingAndAnyCutIntoSegmentsOfTnGivesTheSameBits) {
  const int64_t m = 11, n = 19, rows = 300;
  const std::vector<float> a = noise(rows * m, 6), b = noise(rows * n, 7);
  std::vector<float> whole(static_cast<size_t>(m * n));
  const hp::row_segment all{a.data(), b.data(), rows};
  hp::gemm_tn(m, n, &all, 1, m, n, whole.data(), n);
  unsigned seed = 0;
  for (int64_t tile_m = 1; tile_m <= m; ++tile_m)
    for (int64_t tile_n = 1; tile_n <= n; ++tile_n) {
      std::vector<float> c(whole.size(), NAN);
      for (int64_t i = 0; i < m; i += tile_m)
        for (int64_t j = 0; j < n; j += tile_n) {
          const auto list = cut(rows, 1 + seed % 200, a.data() + i, m, b.data() + j, n, seed);
          ++seed;
          // One call for the whole list, or one accumulating call for each part of it.
          const int64_t segments = static_cast<int64_t>(list.size()), step = seed % 2 == 0 ? segments : 1 + seed % 5;
          for (int64_t s = 0; s < segments; s += step)
            hp::gemm_tn(std::min(tile_m, m - i), std::min(tile_n, n - j), list.data() + s, std::min(step, segments - s),
                        m, n, c.data() + i * n + j, n, s == 0 ? hp::gemm_mode::overwrite : hp::gemm_mode::accumulate);
        }
      ASSERT_TRUE(same_bits(c, whole)) << tile_m << "x" << tile_n;
    }
}

TEST(TransposedGemm, TheOrderOfTheSegmentsIsTheOrderOfTheSum) {
  // In float, 1 + 1 + 2^24 is 2^24 + 2, and 2^24 + 1 + 1 is 2^24.
  const float one = 1.0F, large = 16777216.0F;
  const hp::row_segment rising[] = {{&one, &one, 1}, {&one, &one, 1}, {&one, &large, 1}};
  const hp::row_segment falling[] = {{&one, &large, 1}, {&one, &one, 1}, {&one, &one, 1}};
  float c = NAN;
  hp::gemm_tn(1, 1, rising, 3, 1, 1, &c, 1);
  EXPECT_EQ(c, large + 2.0F);
  hp::gemm_tn(1, 1, falling, 3, 1, 1, &c, 1);
  EXPECT_EQ(c, large);
}

TEST(TransposedGemm, NoRowsGiveZerosOrChangeNothingAndNoColumnBesideTheTileIsTouched) {
  const int64_t m = 5, n = 9, lead = 12;
  const hp::row_segment none[] = {{nullptr, nullptr, 0}, {nullptr, nullptr, 0}};
  for (const int64_t segments : {0, 2}) {
    std::vector<float> c(static_cast<size_t>(m * lead), 7.0F);
    hp::gemm_tn(m, n, none, segments, m, n, c.data(), lead, hp::gemm_mode::accumulate);
    EXPECT_EQ(std::count(c.begin(), c.end(), 7.0F), m * lead);
    hp::gemm_tn(m, n, none, segments, m, n, c.data(), lead);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < lead; ++j)
        ASSERT_EQ(c[static_cast<size_t>(i * lead + j)], j < n ? 0.0F : 7.0F) << i << "," << j;
  }
}

/// ⟨weight, left · right⟩ in double of the float product that the forward kernel computes.
double loss(int64_t m, int64_t n, int64_t k, const std::vector<float>& left, const std::vector<float>& right,
            const std::vector<float>& weight) {
  std::vector<float> c(static_cast<size_t>(m * n));
  hp::gemm(m, n, k, left.data(), k, right.data(), n, c.data(), n);
  double sum = 0;
  for (size_t i = 0; i < c.size(); ++i) sum += static_cast<double>(c[i]) * static_cast<double>(weight[i]);
  return sum;
}

// The product is linear in each operand, so a central difference has no truncation error at any step. What is left is
// rounding in float: each of the changed outputs carries k + 1 roundings, divided by the step.
TEST(TransposedGemm, AreTheGradientsOfTheProduct) {
  const int64_t m = 6, n = 10, k = 7;
  const std::vector<float> a = noise(m * k, 8), b = noise(k * n, 9), dc = noise(m * n, 10);
  std::vector<float> da(a.size()), db(b.size());
  hp::gemm_nt(m, k, n, dc.data(), n, b.data(), n, da.data(), k);
  const hp::row_segment all{a.data(), dc.data(), m};
  hp::gemm_tn(k, n, &all, 1, k, n, db.data(), n);
  const float step = 1.0F;
  const auto check = [&](const std::vector<float>& operand, const std::vector<float>& gradient, bool left) {
    for (size_t i = 0; i < operand.size(); ++i) {
      std::vector<float> up = operand, down = operand;
      up[i] += step;
      down[i] -= step;
      const double rise = loss(m, n, k, left ? up : a, left ? b : up, dc);
      const double fall = loss(m, n, k, left ? down : a, left ? b : down, dc);
      const double distance = static_cast<double>(up[i]) - static_cast<double>(down[i]);
      // About 10 outputs of size < 10, weights < 3, 8 roundings of 6e-8 each: below 2e-4 in the worst case.
      ASSERT_NEAR(static_cast<double>(gradient[i]), (rise - fall) / distance, 2e-4) << (left ? "a " : "b ") << i;
    }
  };
  check(a, da, true);
  check(b, db, false);
}

}  // namespace
