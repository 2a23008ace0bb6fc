// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/choice.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace {

namespace hp = hyperparallel;
namespace kernels = hp::kernels;
using hp::extent_t;

// All score vectors of length up to 6 over three values: every pattern of ties there is.
TEST(Choice, FallsInScoreAndRisesInIndexAmongEquals) {
  for (int n = 0; n <= 6; ++n) {
    int patterns = 1;
    for (int i = 0; i < n; ++i) patterns *= 3;
    for (int pattern = 0; pattern < patterns; ++pattern) {
      std::vector<float> score(static_cast<std::size_t>(n));
      int rest = pattern;
      for (float& s : score) {
        s = static_cast<float>(rest % 3) - 1.0F;
        rest /= 3;
      }
      std::vector<int> order(score.size());
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](int a, int b) {
        const float left = score[static_cast<std::size_t>(a)];
        const float right = score[static_cast<std::size_t>(b)];
        return left != right ? left > right : a < b;
      });
      for (int k = 0; k <= n; ++k) {
        std::vector<int> index(static_cast<std::size_t>(k) + 1, -7);
        std::vector<float> value(static_cast<std::size_t>(k) + 1, -7.0F);
        kernels::top_k(n, k, score.data(), index.data(), value.data());
        for (int i = 0; i < k; ++i) {
          ASSERT_EQ(index[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(i)]);
          ASSERT_EQ(value[static_cast<std::size_t>(i)],
                    score[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]);
        }
        ASSERT_EQ(index.back(), -7);
        ASSERT_EQ(value.back(), -7.0F);
      }
    }
  }
}

TEST(Choice, ANanRanksBelowEveryNumber) {
  const float score[] = {NAN, -INFINITY, NAN, 1.0F};
  int index[4];
  float value[4];
  kernels::top_k(4, 4, score, index, value);
  EXPECT_EQ(index[0], 3);
  EXPECT_EQ(index[1], 1);
  EXPECT_EQ(index[2], 0);
  EXPECT_EQ(index[3], 2);
}

/// Σ d · weight of the choice, straight from the definition of the weights.
double loss(const std::vector<double>& score, const std::vector<int>& choice, const std::vector<double>& d,
            bool normalise, double scale) {
  double total = 0, sum = 0;
  for (const int e : choice) total += score[static_cast<std::size_t>(e)];
  for (std::size_t j = 0; j < choice.size(); ++j)
    sum += d[j] * scale * score[static_cast<std::size_t>(choice[j])] / (normalise ? total : 1);
  return sum;
}

TEST(Choice, WeightsAndTheirGradientAreThoseOfTheDefinition) {
  constexpr extent_t n = 12, k = 4;
  for (const bool normalise : {true, false})
    for (const double scale : {1.0, 2.5})
      for (int seed = 0; seed < 20; ++seed) {
        std::vector<double> score(n), d(k), weight(k), got(n, NAN);
        for (std::size_t e = 0; e < n; ++e) score[e] = 1 + std::sin(1.7 * static_cast<double>(e) + seed);
        for (std::size_t j = 0; j < k; ++j) d[j] = std::cos(2.3 * static_cast<double>(j) + seed);
        std::vector<int> index(k);
        kernels::top_k(n, k, score.data(), index.data(), weight.data());
        kernels::detail::weigh_choice(k, score.data(), index.data(), normalise, scale, weight.data());
        double sum = 0;
        for (const double w : weight) sum += w;
        if (normalise) {
          EXPECT_NEAR(sum, scale, 1e-14);
        }
        kernels::detail::choice_gradient(n, k, d.data(), score.data(), index.data(), normalise, scale, got.data());
        for (std::size_t e = 0; e < n; ++e) {
          std::vector<double> up = score, down = score;
          up[e] += 1e-6;
          down[e] -= 1e-6;
          const double slope = (loss(up, index, d, normalise, scale) - loss(down, index, d, normalise, scale)) / 2e-6;
          ASSERT_NEAR(got[e], slope, 1e-8) << e;
        }
      }
}

TEST(Choice, VanishingScoresShareEvenlyAndHaveNoGradient) {
  const float score[] = {0, 0, 0}, d[] = {1, -2};
  const int index[] = {0, 2};
  float weight[2], gradient[] = {7, 7, 7};
  kernels::detail::weigh_choice(2, score, index, true, 3.0F, weight);
  EXPECT_EQ(weight[0], 1.5F);
  EXPECT_EQ(weight[1], 1.5F);
  kernels::detail::choice_gradient(3, 2, d, score, index, true, 3.0F, gradient);
  for (const float g : gradient) EXPECT_EQ(g, 0.0F);
  const float spoiled[] = {NAN, 1, 1};
  kernels::detail::weigh_choice(2, spoiled, index, true, 3.0F, weight);
  EXPECT_TRUE(std::isnan(weight[0]) && std::isnan(weight[1])) << "a NaN is not hidden";
}

}  // namespace
