// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/blocked_product.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <hyperparallel/kernels/narrow_float.hpp>

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
            mk::detail::blocked_product<T>(m, n, k, mk::detail::even_matrix<const T>{a.data(), {a_row}, {a_term}},
                                           mk::detail::even_matrix<const T>{b.data(), {b_term}, {b_column}},
                                           mk::detail::even_matrix<T>{c.data(), {n}, {1}}, mode);
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

/// Which elements of A and B are zeros, and what else is not as noise is.
struct pattern {
  int zero_rows_of_a, zero_terms_of_a, zero_terms_of_b;  ///< in 8
  bool tails;                                            ///< the zeros end blocks of 16 rows or terms
  bool special;                                          ///< some of B is −0, infinite or not a number, some of A, too
};

/// The law holds whatever is left out: by definition, with zeros of both signs and what they must not be multiplied by.
template <class T, class Stored>
void check_zeros() {
  std::mt19937 random(11);
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  for (const pattern& z : {pattern{4, 0, 0, true, false},
                           {4, 0, 0, true, true},
                           {8, 0, 0, false, true},
                           {3, 0, 0, false, false},
                           {0, 4, 4, true, false},
                           {0, 4, 4, true, true},
                           {0, 0, 5, false, true},
                           {2, 3, 3, false, true},
                           {0, 8, 8, false, false},
                           {1, 8, 4, false, true}})
    for (const extent_t m : {7, 103})
      for (const extent_t n : {70, 600})
        for (const extent_t k : {100, 300})
          for (const mk::product_mode mode : {mk::product_mode::overwrite, mk::product_mode::accumulate}) {
            const bool turned = one_in(2);
            const auto drawn = [&](extent_t count, int in_8) {
              std::vector<bool> zero(static_cast<std::size_t>(count));
              for (extent_t i = 0; i < count; ++i)
                zero[static_cast<std::size_t>(i)] =
                    z.tails ? i % 16 >= 16 - 2 * in_8 : random() % 8 < static_cast<unsigned>(in_8);
              return zero;
            };
            const std::vector<bool> row = drawn(m, z.zero_rows_of_a), a_term = drawn(k, z.zero_terms_of_a),
                                    b_term = drawn(k, z.zero_terms_of_b);
            const auto fill = [&](extent_t lines, extent_t terms, unsigned seed, const auto& is_zero,
                                  unsigned specials) {
              std::vector<T> v = noise<T>(lines * terms, seed);
              const T special[] = {T(-0.0), std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN(),
                                   T(1e-40)};
              for (extent_t i = 0; i < lines; ++i)
                for (extent_t p = 0; p < terms; ++p) {
                  T& x = v[static_cast<std::size_t>(i * terms + p)];
                  if (z.special && one_in(specials)) x = special[random() % 4];
                  if (is_zero(static_cast<std::size_t>(i), static_cast<std::size_t>(p))) x = one_in(2) ? T(-0.0) : T(0);
                }
              return v;
            };
            // Lines are rows of A and columns of B.
            const std::vector<T> a =
                fill(m, k, 1, [&](std::size_t i, std::size_t p) { return row[i] || a_term[p]; }, 4000);
            const std::vector<T> b =
                fill(n, k, 2, [&](std::size_t, std::size_t p) { return b_term[p]; }, one_in(2) ? 100 : 100000);
            std::vector<Stored> a_stored(a.size()), b_stored(b.size());
            const auto put = [&](const std::vector<T>& from, extent_t lines, std::vector<Stored>& to) {
              for (extent_t i = 0; i < lines; ++i)
                for (extent_t p = 0; p < k; ++p)
                  to[static_cast<std::size_t>(turned ? p * lines + i : i * k + p)] =
                      mk::store<Stored>(from[static_cast<std::size_t>(i * k + p)]);
            };
            put(a, m, a_stored);
            put(b, n, b_stored);
            std::vector<T> before = noise<T>(m * n, 3);
            for (T& x : before)
              if (one_in(3)) x = T(-0.0);
            std::vector<T> c = before;
            mk::detail::blocked_product<T>(
                m, n, k, mk::detail::even_matrix<const Stored>{a_stored.data(), {turned ? 1 : k}, {turned ? m : 1}},
                mk::detail::even_matrix<const Stored>{b_stored.data(), {turned ? n : 1}, {turned ? 1 : k}},
                mk::detail::even_matrix<T>{c.data(), {n}, {1}}, mode);
            std::vector<T> a_loaded, b_loaded;
            for (const T& x : a) a_loaded.push_back(static_cast<T>(mk::load(mk::store<Stored>(x))));
            for (const T& x : b) b_loaded.push_back(static_cast<T>(mk::load(mk::store<Stored>(x))));
            for (extent_t i = 0; i < m; ++i)
              for (extent_t j = 0; j < n; j += n == 600 ? 13 : 3) {
                const std::size_t at = static_cast<std::size_t>(i * n + j);
                const T expected = by_law(a_loaded.data() + i * k, 1, b_loaded.data() + j * k, 1, k, before[at],
                                          mode == mk::product_mode::accumulate);
                ASSERT_TRUE(std::memcmp(&c[at], &expected, sizeof(T)) == 0 ||
                            (std::isnan(c[at]) && std::isnan(expected)))
                    << m << "x" << n << "x" << k << " at " << i << ", " << j << ": " << c[at] << " not " << expected;
              }
          }
}

TEST(BlockedProduct, LeavesOutZerosOfFloatsWithTheBitsOfAllProducts) { check_zeros<float, float>(); }
TEST(BlockedProduct, LeavesOutZerosOfDoublesWithTheBitsOfAllProducts) { check_zeros<double, double>(); }
TEST(BlockedProduct, LeavesOutZerosOfBfloat16WithTheBitsOfAllProducts) {
  check_zeros<float, hyperparallel::bf16_bits>();
}
TEST(BlockedProduct, LeavesOutZerosOfFloat16WithTheBitsOfAllProducts) { check_zeros<float, hyperparallel::f16_bits>(); }

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
  using read = mk::detail::matrix_in_memory<const double, mk::detail::table_steps>;
  mk::detail::blocked_product<double>(
      m, n, k, read{a.data(), {a_row.data()}, {a_term.data()}}, read{b.data(), {b_term.data()}, {b_column.data()}},
      mk::detail::matrix_in_memory<double, mk::detail::table_steps>{c.data(), {c_row.data()}, {c_column.data()}});
  for (std::size_t i = 0; i < static_cast<std::size_t>(m); ++i)
    for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j) {
      double sum = 0;
      for (std::size_t p = 0; p < static_cast<std::size_t>(k); ++p)
        sum += a[static_cast<std::size_t>(a_row[i] + a_term[p])] * b[static_cast<std::size_t>(b_term[p] + b_column[j])];
      EXPECT_NEAR(c[static_cast<std::size_t>(c_row[i] + c_column[j])], sum, 1e-13);
    }
}

}  // namespace
