// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/row_arithmetic.hpp>

#include <gtest/gtest.h>

#include <random>
#include <thread>

namespace {

namespace mk = hyperparallel::kernels;
using hyperparallel::extent_t;

template <class T>
void check(double bound) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (extent_t n = 0; n < 70; ++n) {
    std::vector<T> x(static_cast<std::size_t>(n)), y(x.size());
    for (T& v : x) v = static_cast<T>(normal(random));
    for (T& v : y) v = static_cast<T>(normal(random));
    long double product = 0, total = 0;
    std::vector<T> added = y, scaled = y;
    for (std::size_t i = 0; i < x.size(); ++i) {
      product += static_cast<long double>(x[i]) * static_cast<long double>(y[i]);
      total += static_cast<long double>(x[i]);
    }
    EXPECT_NEAR(static_cast<double>(mk::dot(n, x.data(), y.data())), static_cast<double>(product), bound);
    EXPECT_NEAR(
        static_cast<double>(mk::detail::lane_sum<T>(n, [&](extent_t i) { return x[static_cast<std::size_t>(i)]; })),
        static_cast<double>(total), bound);
    mk::detail::add_row(n, x.data(), added.data());
    mk::detail::add_scaled_row(n, T(0.5), x.data(), scaled.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(added[i], y[i] + x[i]);
      EXPECT_EQ(scaled[i], y[i] + T(0.5) * x[i]);
    }
  }
}

TEST(RowArithmetic, AgreesWithTheDefinitionInFloat) { check<float>(3e-5); }
TEST(RowArithmetic, AgreesWithTheDefinitionInDouble) { check<double>(1e-13); }

// Term i goes to lane i mod 8, and lanes join by halves: an order that 1e30 among small terms shows.
TEST(RowArithmetic, LanesJoinByHalves) {
  float terms[12] = {};
  terms[0] = 1e30F;
  terms[4] = -1e30F;
  terms[1] = 1;
  terms[9] = 2;
  EXPECT_EQ(mk::detail::lane_sum<float>(12, [&](extent_t i) { return terms[i]; }), 3.0F);
  terms[4] = 0;
  terms[1] = -1e30F;
  EXPECT_EQ(mk::detail::lane_sum<float>(12, [&](extent_t i) { return terms[i]; }), 0.0F)
      << "the small term met a large one";
}

TEST(RowArithmetic, MemoryIsOfTheThreadAndTheUse) {
  float* const mine = mk::detail::thread_memory<float, 0>(10);
  EXPECT_EQ((mk::detail::thread_memory<float, 0>(5)), mine);
  EXPECT_NE((mk::detail::thread_memory<float, 1>(5)), mine);
  std::thread([mine] { EXPECT_NE((mk::detail::thread_memory<float, 0>(5)), mine); }).join();
}

}  // namespace
