// SPDX-License-Identifier: Apache-2.0
#pragma once
// A token's choice of experts: the k largest of n scores, their weights, and the gradient of the weights.
//
//   scaled       weight_j = scale · s_j            ds_j = scale · dw_j
//   normalised   weight_j = scale · s_j / S        ds_j = scale · (dw_j − Σ dw · s / S) / S,   S = Σ of the chosen s
//
// Laws: the choice is in falling order of score; equal scores come in rising order of index, so ties go to the lowest
// index and the choice depends on nothing but the scores. A NaN ranks below every number. Scores that sum to 0 get
// equal weights, which do not depend on them: no gradient. The choice itself is taken as fixed. Used for operators of
// graphs and for tiles.

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/layout/shape.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

/// Domain: 0 ≤ k ≤ n; `index` and `value` hold k entries each. O(n · k), no memory.
template <class T, class I>
void top_k(extent_t n, extent_t k, const T* score, I* index, T* value) {
  const auto before = [](T a, T b) { return a > b || (a == a && b != b); };
  extent_t held = 0;
  for (extent_t i = 0; i < n && k > 0; ++i) {
    if (held == k && !before(score[i], value[k - 1])) continue;
    extent_t place = held < k ? held++ : k - 1;
    for (; place > 0 && before(score[i], value[place - 1]); --place) {
      value[place] = value[place - 1];
      index[place] = index[place - 1];
    }
    value[place] = score[i];
    index[place] = static_cast<I>(i);
  }
}

namespace detail {

/// Weights of the chosen scores.
template <class T, class I>
HYPERPARALLEL_EXACT void weigh_choice(extent_t k, const T* score, const I* index, bool normalise, T scale, T* weight) {
  HYPERPARALLEL_EXACT_BODY
  T total = T(0);
  for (extent_t j = 0; j < k; ++j) total += score[index[j]];
  if (normalise && total == T(0)) {
    for (extent_t j = 0; j < k; ++j) weight[j] = scale / static_cast<T>(k);
    return;
  }
  const T by = normalise ? scale / total : scale;
  for (extent_t j = 0; j < k; ++j) weight[j] = score[index[j]] * by;
}

/// Gradients of all n scores; those that are not chosen have none. O(n).
template <class T, class I>
HYPERPARALLEL_EXACT void choice_gradient(extent_t n, extent_t k, const T* d_weight, const T* score, const I* index,
                                         bool normalise, T scale, T* d_score) {
  HYPERPARALLEL_EXACT_BODY
  T total = T(0), weighted = T(0);
  for (extent_t e = 0; e < n; ++e) d_score[e] = T(0);
  for (extent_t j = 0; j < k; ++j) {
    total += score[index[j]];
    weighted += d_weight[j] * score[index[j]];
  }
  if (normalise && total == T(0)) return;
  for (extent_t j = 0; j < k; ++j)
    d_score[index[j]] += normalise ? scale * (d_weight[j] - weighted / total) / total : scale * d_weight[j];
}

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::kernels

HYPERPARALLEL_EXACT_END
