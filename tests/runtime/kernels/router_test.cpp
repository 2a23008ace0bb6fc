// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/runtime/kernels/router.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

namespace {

namespace hp = hyperparallel;
using std::int64_t;

constexpr int64_t tokens = 19, hidden = 32;
constexpr int experts = 12, chosen = 4;

struct routing {
  std::vector<float> scores = std::vector<float>(tokens * experts), weight = std::vector<float>(tokens * chosen);
  std::vector<int> expert = std::vector<int>(tokens * chosen);
  friend bool operator==(const routing&, const routing&) = default;
};

std::vector<float> noise(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, 0.4F);
  std::vector<float> v(n);
  for (float& x : v) x = normal(random);
  return v;
}

const std::vector<float> x = noise(tokens * hidden, 1), w = noise(hidden * experts, 2), bias = noise(experts, 3);

routing run(const hp::router_settings& s, const float* with_bias, int64_t tile) {
  routing r;
  std::vector<float> scratch(experts);
  for (int64_t t = 0; t < tokens; t += tile)
    hp::route(s, std::min(tile, tokens - t), hidden, x.data() + t * hidden, hidden, w.data(), with_bias,
              r.scores.data() + t * experts, r.expert.data() + t * chosen, r.weight.data() + t * chosen,
              scratch.data());
  return r;
}

TEST(Router, AgreesWithDoublePrecisionForEverySetting) {
  for (const hp::router_scores kind : {hp::router_scores::softmax, hp::router_scores::sigmoid})
    for (const bool normalise : {true, false})
      for (const float* b : {static_cast<const float*>(nullptr), bias.data()}) {
        const routing r = run({experts, chosen, kind, normalise, 2.5F}, b, tokens);
        for (int64_t t = 0; t < tokens; ++t) {
          double score[experts];
          double sum = 0.0;
          for (int e = 0; e < experts; ++e) {
            double logit = 0.0;
            for (int64_t h = 0; h < hidden; ++h)
              logit += static_cast<double>(x[static_cast<std::size_t>(t * hidden + h)]) *
                       static_cast<double>(w[static_cast<std::size_t>(h * experts + e)]);
            score[e] = kind == hp::router_scores::sigmoid ? 1.0 / (1.0 + std::exp(-logit)) : std::exp(logit);
            sum += score[e];
          }
          if (kind == hp::router_scores::softmax)
            for (double& s : score) s /= sum;
          const int* expert = r.expert.data() + t * chosen;
          double total = 0.0;
          for (int i = 0; i < chosen; ++i) total += score[expert[i]];
          const std::set<int> distinct(expert, expert + chosen);
          ASSERT_EQ(distinct.size(), static_cast<std::size_t>(chosen));
          const auto rank_by = [&](int e) { return score[e] + (b != nullptr ? static_cast<double>(b[e]) : 0.0); };
          for (int i = 0; i + 1 < chosen; ++i) ASSERT_GE(rank_by(expert[i]), rank_by(expert[i + 1]) - 1e-6);
          for (int e = 0; e < experts; ++e)
            if (!distinct.contains(e)) {
              ASSERT_LE(rank_by(e), rank_by(expert[chosen - 1]) + 1e-6);
            }
          for (int i = 0; i < chosen; ++i)
            ASSERT_NEAR(static_cast<double>(r.weight[static_cast<std::size_t>(t * chosen + i)]),
                        2.5 * score[expert[i]] / (normalise ? total : 1.0), 1e-5);
        }
      }
}

TEST(Router, AnySplitOfTheBatchGivesTheSameBits) {
  for (const hp::router_scores kind : {hp::router_scores::softmax, hp::router_scores::sigmoid}) {
    const hp::router_settings s{experts, chosen, kind};
    const routing whole = run(s, bias.data(), tokens);
    for (int64_t tile = 1; tile < tokens; ++tile) EXPECT_EQ(run(s, bias.data(), tile), whole) << tile;
  }
}

TEST(Router, TiesGoToTheLowestExpertAndVanishingScoresShareEvenly) {
  const float zero_w[hidden * experts] = {};
  routing r;
  hp::route({experts, chosen}, tokens, hidden, x.data(), hidden, zero_w, nullptr, r.scores.data(), r.expert.data(),
            r.weight.data());
  for (int64_t t = 0; t < tokens; ++t)
    for (int i = 0; i < chosen; ++i) {
      EXPECT_EQ(r.expert[static_cast<std::size_t>(t * chosen + i)], i);
      EXPECT_EQ(r.weight[static_cast<std::size_t>(t * chosen + i)], 0.25F);
    }
  const float one = 1.0F;
  const float drown[2] = {-500.0F, -500.0F};
  float scores[2], weight[2];
  int expert[2];
  hp::route({2, 2}, 1, 1, &one, 1, drown, nullptr, scores, expert, weight);
  EXPECT_EQ(scores[0], 0.0F);
  EXPECT_EQ(weight[0], 0.5F);
  EXPECT_EQ(weight[1], 0.5F);
}

}  // namespace
