// SPDX-License-Identifier: Apache-2.0
#pragma once
// The router of a mixture of experts: which experts a token goes to, and with what weights.
//
//   logits = x · W                         row of x times W[hidden × experts]
//   scores = softmax(logits)               router_scores::softmax
//          = sigmoid(logits)               router_scores::sigmoid (as DeepSeek-V3, arXiv:2412.19437 §2.1.2)
//   choice = top k of scores + bias        bias may be absent; it moves the choice and never the weights
//   weight = score / Σ scores of the choice, times `scale`; without `normalise`, score times `scale`
//
// Law: a token's result depends on its row alone, so routing a batch by parts gives bit-equal choices and weights; ties
// go to the lowest expert.

#include <cmath>
#include <cstdint>

#include <hyperparallel/runtime/kernels/exact.hpp>
#include <hyperparallel/runtime/kernels/gemm.hpp>
#include <hyperparallel/runtime/kernels/top_k.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel::inline v0_2 {

enum class router_scores { softmax, sigmoid };

struct router_settings {
  int experts = 0;
  int chosen = 0;
  router_scores scores = router_scores::sigmoid;
  bool normalise = true;
  float scale = 1.0F;
};

namespace detail {

/// Replaces one token's logits by scores.
HYPERPARALLEL_EXACT inline void score_row(int n, router_scores kind, float* row) {
  HYPERPARALLEL_EXACT_BODY
  if (kind == router_scores::sigmoid) {
    for (int e = 0; e < n; ++e) row[e] = 1.0F / (1.0F + std::exp(-row[e]));
    return;
  }
  float largest = n > 0 ? row[0] : 0.0F;
  for (int e = 1; e < n; ++e) largest = row[e] > largest ? row[e] : largest;
  float sum = 0.0F;
  for (int e = 0; e < n; ++e) {
    row[e] = std::exp(row[e] - largest);
    sum += row[e];
  }
  for (int e = 0; e < n; ++e) row[e] /= sum;
}

/// Turns the chosen experts' scores into weights. A choice whose scores sum to 0 gets equal weights.
HYPERPARALLEL_EXACT inline void weigh_choice(const router_settings& s, const float* score, const int* expert,
                                             float* weight) {
  HYPERPARALLEL_EXACT_BODY
  float sum = 0.0F;
  for (int i = 0; i < s.chosen; ++i) sum += score[expert[i]];
  for (int i = 0; i < s.chosen; ++i) {
    if (!s.normalise)
      weight[i] = score[expert[i]] * s.scale;
    else if (sum > 0.0F)
      weight[i] = score[expert[i]] / sum * s.scale;
    else
      weight[i] = s.scale / static_cast<float>(s.chosen);
  }
}

}  // namespace detail

/// Routes `tokens` rows of x (`hidden` long, `pitch` elements apart). `scores` gets tokens × experts scores, `expert`
/// and `weight` tokens × chosen entries, best first. `bias` is null or holds one number an expert; `scratch` holds
/// `experts` floats and is needed only with a bias. Domain: 0 < chosen ≤ experts.
inline void route(const router_settings& s, std::int64_t tokens, std::int64_t hidden, const float* x,
                  std::int64_t pitch, const float* w, const float* bias, float* scores, int* expert, float* weight,
                  float* scratch = nullptr) {
  gemm(tokens, s.experts, hidden, x, pitch, w, s.experts, scores, s.experts);
  for (std::int64_t t = 0; t < tokens; ++t) {
    float* const row = scores + t * s.experts;
    int* const choice = expert + t * s.chosen;
    float* const out = weight + t * s.chosen;
    detail::score_row(s.experts, s.scores, row);
    const float* ranked = row;
    if (bias != nullptr) {
      for (int e = 0; e < s.experts; ++e) scratch[e] = row[e] + bias[e];
      ranked = scratch;
    }
    top_k(s.experts, s.chosen, ranked, choice, out);
    detail::weigh_choice(s, row, choice, out);
  }
}

}  // namespace hyperparallel::inline v0_2

HYPERPARALLEL_EXACT_END
