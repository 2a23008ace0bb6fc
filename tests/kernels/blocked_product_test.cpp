// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/blocked_product.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace {

namespace mk = hyperparallel::kernels;
using hyperparallel::extent_t;

template <class T>
std::vector<T> noise(extent_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<T> v(static_cast<std::size_t>(n));
  for (T& x : v) x = static_cast<T>(normal(random));
  return v;
}

/// The law, term by term: every product and sum is rounded by itself, 256 terms to a block.
template <class T>
T by_law(const T* a, extent_t step_a, const T* b, extent_t step_b, extent_t k, T before, bool add) {
  T total = before;
  for (extent_t p = 0; p < k; p += 256) {
    volatile T part = T(0);
    for (extent_t q = p; q < k && q < p + 256; ++q) {
      volatile T product = a[q * step_a] * b[q * step_b];
      part = part + product;
    }
    total = p == 0 && !add ? static_cast<T>(part) : static_cast<T>(total + part);
  }
  return total;
}

template <class T>
void check_bits() {
  for (const extent_t m : {1, 4, 67})
    for (const extent_t n : {1, 8, 15, 133})
      for (const extent_t k : {1, 256, 515})
        for (const bool turned : {false, true})
          for (const mk::product_mode mode : {mk::product_mode::overwrite, mk::product_mode::accumulate}) {
            const std::vector<T> a = noise<T>(m * k, 1), b = noise<T>(k * n, 2), before = noise<T>(m * n, 3);
            std::vector<T> c = before;
            const extent_t a_row = turned ? 1 : k, a_term = turned ? m : 1;
            const extent_t b_term = turned ? 1 : n, b_column = turned ? k : 1;
            mk::blocked_product<T>(m, n, k, mk::even_matrix<const T>{a.data(), {a_row}, {a_term}},
                                   mk::even_matrix<const T>{b.data(), {b_term}, {b_column}},
                                   mk::even_matrix<T>{c.data(), {n}, {1}}, mode);
            for (extent_t i = 0; i < m; ++i)
              for (extent_t j = 0; j < n; ++j) {
                const std::size_t at = static_cast<std::size_t>(i * n + j);
                const T expected = by_law(a.data() + i * a_row, a_term, b.data() + j * b_column, b_term, k, before[at],
                                          mode == mk::product_mode::accumulate);
                ASSERT_EQ(c[at], expected) << m << "x" << n << "x" << k << " at " << i << ", " << j;
              }
          }
}

TEST(BlockedProduct, SumsAsTheLawSaysInFloat) { check_bits<float>(); }
TEST(BlockedProduct, SumsAsTheLawSaysInDouble) { check_bits<double>(); }

// Rows and columns of all three in random places.
TEST(BlockedProduct, TablesMayPlaceAnything) {
  const extent_t m = 9, n = 21, k = 30;
  std::mt19937 random(4);
  const auto shuffled = [&](extent_t count, extent_t step) {
    std::vector<extent_t> v(static_cast<std::size_t>(count));
    for (extent_t i = 0; i < count; ++i) v[static_cast<std::size_t>(i)] = i * step;
    std::shuffle(v.begin(), v.end(), random);
    return v;
  };
  const std::vector<extent_t> a_row = shuffled(m, k), a_term = shuffled(k, 1), b_term = shuffled(k, n),
                              b_column = shuffled(n, 1), c_row = shuffled(m, n), c_column = shuffled(n, 1);
  const std::vector<double> a = noise<double>(m * k, 5), b = noise<double>(k * n, 6);
  std::vector<double> c(static_cast<std::size_t>(m * n));
  using read = mk::matrix_in_memory<const double, mk::table_steps>;
  mk::blocked_product<double>(
      m, n, k, read{a.data(), {a_row.data()}, {a_term.data()}}, read{b.data(), {b_term.data()}, {b_column.data()}},
      mk::matrix_in_memory<double, mk::table_steps>{c.data(), {c_row.data()}, {c_column.data()}});
  for (std::size_t i = 0; i < static_cast<std::size_t>(m); ++i)
    for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j) {
      double sum = 0;
      for (std::size_t p = 0; p < static_cast<std::size_t>(k); ++p)
        sum += a[static_cast<std::size_t>(a_row[i] + a_term[p])] * b[static_cast<std::size_t>(b_term[p] + b_column[j])];
      EXPECT_NEAR(c[static_cast<std::size_t>(c_row[i] + c_column[j])], sum, 1e-13);
    }
}

}  // namespace
