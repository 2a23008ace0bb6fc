// SPDX-License-Identifier: Apache-2.0
#pragma once
// The gradient of the router: from the gradients of the weights it gave out to those of its logits.
//
//   weight = scale · score / Σ chosen scores   d score[i] = (scale · d weight[i] − Σ d weight · weight) / Σ scores
//          = scale · score                     d score[i] = scale · d weight[i]         without `normalise`
//   sigmoid                                    d logit[e] = d score[e] · score[e] · (1 − score[e]), 0 if not chosen
//   softmax                                    d logit[e] = score[e] · (d score[e] − Σ d score · score)
//
// The choice itself is taken as fixed, and so is a bias that moves it. A choice whose scores sum to 0 got equal
// weights, which do not depend on the scores: its gradient is 0. Law: a token's result depends on its own numbers
// alone, sums run in the order of the choice, so any split of the batch gives the same bits. The products that surround
// it are gemm_nt (d x = d logits · Wᵀ) and gemm_tn (d W = xᵀ · d logits).

#include <cstdint>

#include <hyperparallel/runtime/kernels/exact.hpp>
#include <hyperparallel/runtime/kernels/router.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel::inline v0_2 {

/// `scores`, `expert` and `weight` as `route` left them; `weight_gradient` tokens × chosen; `logits_gradient` gets
/// tokens × experts. Domain: logits_gradient overlaps no operand. O(tokens · experts).
HYPERPARALLEL_EXACT inline void router_gradient(const router_settings& s, std::int64_t tokens, const float* scores,
                                                const int* expert, const float* weight, const float* weight_gradient,
                                                float* logits_gradient) {
  HYPERPARALLEL_EXACT_BODY
  for (std::int64_t t = 0; t < tokens; ++t) {
    const float* const score = scores + t * s.experts;
    const int* const choice = expert + t * s.chosen;
    const float* const from = weight_gradient + t * s.chosen;
    float* const to = logits_gradient + t * s.experts;
    float total = 0.0F, mean = 0.0F;
    for (int i = 0; i < s.chosen; ++i) {
      total += score[choice[i]];
      mean += from[i] * weight[t * s.chosen + i];
    }
    for (int e = 0; e < s.experts; ++e) to[e] = 0.0F;
    for (int i = 0; i < s.chosen; ++i) {
      if (!s.normalise)
        to[choice[i]] = from[i] * s.scale;
      else if (total > 0.0F)
        to[choice[i]] = (from[i] * s.scale - mean) / total;
    }
    if (s.scores == router_scores::sigmoid) {
      for (int e = 0; e < s.experts; ++e) to[e] = to[e] * (score[e] * (1.0F - score[e]));
      continue;
    }
    float inner = 0.0F;
    for (int i = 0; i < s.chosen; ++i) inner += to[choice[i]] * score[choice[i]];
    for (int e = 0; e < s.experts; ++e) to[e] = score[e] * (to[e] - inner);
  }
}

}  // namespace hyperparallel::inline v0_2

HYPERPARALLEL_EXACT_END
