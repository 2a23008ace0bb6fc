// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/error_statistics.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

namespace hp = hyperparallel;

/// Every list of `length` values out of {1, …, largest}.
std::vector<std::vector<double>> lists(int length, int largest) {
  std::vector<std::vector<double>> all{{}};
  for (int place = 0; place < length; ++place) {
    std::vector<std::vector<double>> longer;
    for (const std::vector<double>& list : all)
      for (int v = 1; v <= largest; ++v) {
        longer.push_back(list);
        longer.back().push_back(v);
      }
    all = longer;
  }
  return all;
}

constexpr bool computes_at_compile_time() {
  constexpr double values[] = {3, 1, 2, 10};
  constexpr double reversed[] = {2, 4, 3, 1};
  return hp::mean_of(values) == 4 && hp::median_of(values) == 2.5 && hp::quantile_of(values, 1) == 10 &&
         hp::rank_agreement_of(values, reversed).tau_b() == -1 && hp::regret_of(values, reversed) == 4;
}
static_assert(computes_at_compile_time());
static_assert(hp::relative_error(3, 2) == 0.5 && hp::relative_error(1, 2) == -0.5);
static_assert(hp::mean_of({}) == 0 && hp::median_of({}) == 0);

TEST(ErrorStatistics, QuantilesAreThoseOfTheSortedList) {
  for (int length = 1; length <= 4; ++length)
    for (const std::vector<double>& list : lists(length, 4)) {
      std::vector<double> sorted = list;
      std::sort(sorted.begin(), sorted.end());
      double before = sorted.front();
      for (int step = 0; step <= 20; ++step) {
        const double q = hp::quantile_of(list, step / 20.0);
        EXPECT_LE(before, q);
        EXPECT_LE(q, sorted.back());
        before = q;
      }
      for (int k = 0; length > 1 && k < length; ++k)

        EXPECT_NEAR(hp::quantile_of(list, k / (length - 1.0)), sorted[static_cast<std::size_t>(k)], 1e-12);
      const std::size_t half = sorted.size() / 2;
      EXPECT_DOUBLE_EQ(hp::median_of(list),
                       sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2);
      double sum = 0;
      for (const double v : list) sum += v;
      EXPECT_DOUBLE_EQ(hp::mean_of(list), sum / length);
    }
}

// The sum over all pairs of the product of signs, over the root of the sums of their squares.
TEST(ErrorStatistics, TauIsTheCorrelationOfSigns) {
  const auto sign = [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; };
  const std::vector<std::vector<double>> all = lists(4, 3);
  for (const std::vector<double>& a : all)
    for (const std::vector<double>& b : all) {
      double ab = 0, aa = 0, bb = 0;
      for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = 0; j < a.size(); ++j) {
          ab += sign(a[i] - a[j]) * sign(b[i] - b[j]);
          aa += std::abs(sign(a[i] - a[j]));
          bb += std::abs(sign(b[i] - b[j]));
        }
      const double expected = aa == 0 || bb == 0 ? 0.0 : ab / std::sqrt(aa * bb);
      const double tau = hp::rank_agreement_of(a, b).tau_b();
      EXPECT_NEAR(tau, expected, 1e-12);
      std::vector<double> turned = b;
      for (double& v : turned) v = -v;
      EXPECT_NEAR(hp::rank_agreement_of(a, turned).tau_b(), -tau, 1e-12);
    }
}

TEST(ErrorStatistics, PairsAndRegretByBruteForce) {
  const std::vector<std::vector<double>> all = lists(3, 4);
  for (const std::vector<double>& predicted : all)
    for (const std::vector<double>& measured : all) {
      std::vector<hp::measured_interval> intervals;
      for (const double m : measured) intervals.push_back({m, m, m});
      int right = 0, pairs = 0;
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = i + 1; j < 3; ++j) {
          if (std::max(measured[i], measured[j]) <= 1.5 * std::min(measured[i], measured[j])) continue;
          ++pairs;
          if ((predicted[i] - predicted[j]) * (measured[i] - measured[j]) > 0) ++right;
        }
      const hp::ordered_pairs found = hp::pairs_of(predicted, intervals, 0.5);
      EXPECT_EQ(found.all, pairs);
      EXPECT_EQ(found.right, right);
      EXPECT_DOUBLE_EQ(found.share(), pairs == 0 ? 0.0 : static_cast<double>(right) / pairs);

      const double least = *std::min_element(predicted.begin(), predicted.end());
      double worst = 0;
      for (std::size_t i = 0; i < 3; ++i)
        if (predicted[i] == least) worst = std::max(worst, measured[i]);
      EXPECT_DOUBLE_EQ(hp::regret_of(predicted, measured), worst / *std::min_element(measured.begin(), measured.end()));
    }
}

// 0.8 and 0.9 of which each is rounded to a digit may be equal.
TEST(ErrorStatistics, PairsInsideTheirDigitsDoNotCount) {
  const double predicted[] = {1, 2};
  const hp::measured_interval apart[] = {{0.75, 0.8, 0.84}, {0.86, 0.9, 0.95}},
                              touching[] = {{0.75, 0.8, 0.85}, {0.85, 0.9, 0.95}};
  EXPECT_EQ(hp::pairs_of(predicted, apart, 0.05).all, 1);
  EXPECT_EQ(hp::pairs_of(predicted, touching, 0.05).all, 0);
  EXPECT_EQ(hp::pairs_of(predicted, apart, 0.2).all, 0);
}

}  // namespace
