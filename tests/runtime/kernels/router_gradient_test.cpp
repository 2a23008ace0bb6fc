// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/runtime/kernels/router_gradient.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "runtime/kernels/noise.hpp"

namespace {

namespace hp = hyperparallel;
using kernel_test::noise;
using std::int64_t;
using std::size_t;

constexpr int64_t tokens = 19;
constexpr int experts = 12, chosen = 4;

struct routing {
  std::vector<float> scores, weight = std::vector<float>(tokens * chosen);
  std::vector<int> expert = std::vector<int>(tokens * chosen);
};

/// What `route` leaves for these logits.
routing routed(const hp::router_settings& s, const std::vector<float>& logits) {
  routing r;
  r.scores = logits;
  for (int64_t t = 0; t < tokens; ++t) {
    float* const row = r.scores.data() + t * experts;
    hp::detail::score_row(experts, s.scores, row);
    hp::top_k(experts, chosen, row, r.expert.data() + t * chosen, r.weight.data() + t * chosen);
    hp::detail::weigh_choice(s, row, r.expert.data() + t * chosen, r.weight.data() + t * chosen);
  }
  return r;
}

/// Σ d · weight of one token's choice in double, straight from the definition of the weights.
double loss(const hp::router_settings& s, const std::vector<double>& logit, const int* choice, const float* d) {
  std::vector<double> score(experts);
  double all = 0;
  for (size_t e = 0; e < experts; ++e) {
    score[e] = s.scores == hp::router_scores::sigmoid ? 1 / (1 + std::exp(-logit[e])) : std::exp(logit[e]);
    all += score[e];
  }
  if (s.scores == hp::router_scores::softmax)
    for (double& x : score) x /= all;
  double total = 0, sum = 0;
  for (int i = 0; i < chosen; ++i) total += score[static_cast<size_t>(choice[i])];
  for (int i = 0; i < chosen; ++i)
    sum += static_cast<double>(d[i]) * static_cast<double>(s.scale) * score[static_cast<size_t>(choice[i])] /
           (s.normalise ? total : 1);
  return sum;
}

template <class Check>
void for_each_setting(const Check& check) {
  for (const hp::router_scores kind : {hp::router_scores::softmax, hp::router_scores::sigmoid})
    for (const bool normalise : {true, false})
      for (const float scale : {1.0F, 2.5F}) check(hp::router_settings{experts, chosen, kind, normalise, scale});
}

const std::vector<float> logits = noise(tokens * experts, 1), d = noise(tokens * chosen, 2);

// Central differences in double with step 1e-4: truncation and rounding are below 1e-7. The kernel's own error is that
// of twenty float roundings of numbers below 2.5 · 4 · |d|, |d| < 4, divided by the sum of four best scores (> 0.5).
TEST(RouterGradient, IsTheSlopeOfTheWeightsForEverySetting) {
  for_each_setting([](const hp::router_settings& s) {
    const routing r = routed(s, logits);
    std::vector<float> got(tokens * experts, NAN);
    hp::router_gradient(s, tokens, r.scores.data(), r.expert.data(), r.weight.data(), d.data(), got.data());
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t e = 0; e < experts; ++e) {
        std::vector<double> up(logits.begin() + t * experts, logits.begin() + (t + 1) * experts), down = up;
        up[static_cast<size_t>(e)] += 1e-4;
        down[static_cast<size_t>(e)] -= 1e-4;
        const int* const choice = r.expert.data() + t * chosen;
        const float* const from = d.data() + t * chosen;
        const double slope = (loss(s, up, choice, from) - loss(s, down, choice, from)) / 2e-4;
        ASSERT_NEAR(static_cast<double>(got[static_cast<size_t>(t * experts + e)]), slope, 1e-5) << t << "," << e;
      }
  });
}

// Normalised weights sum to `scale` whatever the logits, and a softmax ignores a shift of all of them.
TEST(RouterGradient, WhatMovesNoWeightHasNoGradient) {
  const std::vector<float> equal(tokens * chosen, 3.0F);
  for_each_setting([&](const hp::router_settings& s) {
    const routing r = routed(s, logits);
    std::vector<float> got(tokens * experts);
    if (s.normalise) {
      hp::router_gradient(s, tokens, r.scores.data(), r.expert.data(), r.weight.data(), equal.data(), got.data());
      for (const float x : got) ASSERT_NEAR(x, 0.0F, 1e-5F);
    }
    if (s.scores != hp::router_scores::softmax) return;
    hp::router_gradient(s, tokens, r.scores.data(), r.expert.data(), r.weight.data(), d.data(), got.data());
    for (int64_t t = 0; t < tokens; ++t) {
      float sum = 0.0F;
      for (int64_t e = 0; e < experts; ++e) sum += got[static_cast<size_t>(t * experts + e)];
      ASSERT_NEAR(sum, 0.0F, 1e-5F);
    }
  });
}

TEST(RouterGradient, AnySplitOfTheBatchGivesTheSameBits) {
  for_each_setting([](const hp::router_settings& s) {
    const routing r = routed(s, logits);
    std::vector<float> whole(tokens * experts);
    hp::router_gradient(s, tokens, r.scores.data(), r.expert.data(), r.weight.data(), d.data(), whole.data());
    for (int64_t tile = 1; tile < tokens; ++tile) {
      std::vector<float> parts(whole.size());
      for (int64_t t = 0; t < tokens; t += tile)
        hp::router_gradient(s, std::min(tile, tokens - t), r.scores.data() + t * experts, r.expert.data() + t * chosen,
                            r.weight.data() + t * chosen, d.data() + t * chosen, parts.data() + t * experts);
      ASSERT_EQ(parts, whole) << tile;
    }
  });
}

TEST(RouterGradient, VanishingScoresAndNoTokensGiveNone) {
  const float scores[] = {0.0F, 0.0F}, weight[] = {0.5F, 0.5F}, from[] = {1.0F, -2.0F};
  const int expert[] = {0, 1};
  float got[] = {7.0F, 7.0F};
  hp::router_gradient({2, 2}, 0, scores, expert, weight, from, got);
  EXPECT_EQ(got[0], 7.0F);
  hp::router_gradient({2, 2}, 1, scores, expert, weight, from, got);
  EXPECT_EQ(got[0], 0.0F);
  EXPECT_EQ(got[1], 0.0F);
}

}  // namespace
