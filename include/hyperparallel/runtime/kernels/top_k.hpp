// SPDX-License-Identifier: Apache-2.0
#pragma once
// The k largest of n scores, with their indices.
//
// Law: results are in falling order of score; equal scores come in rising order of index, so ties go to the lowest
// index and the choice depends on nothing but the scores. A NaN ranks below every number.

#include <cstdint>

#include <hyperparallel/runtime/kernels/exact.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel::inline v0_2 {

/// Domain: 0 ≤ k ≤ n; `index` and `value` hold k entries each. O(n · k), no memory.
inline void top_k(int n, int k, const float* score, int* index, float* value) {
  const auto before = [](float a, float b) { return a > b || (a == a && b != b); };
  int held = 0;
  for (int i = 0; i < n && k > 0; ++i) {
    if (held == k && !before(score[i], value[k - 1])) continue;
    int place = held < k ? held++ : k - 1;
    for (; place > 0 && before(score[i], value[place - 1]); --place) {
      value[place] = value[place - 1];
      index[place] = index[place - 1];
    }
    value[place] = score[i];
    index[place] = i;
  }
}

}  // namespace hyperparallel::inline v0_2

HYPERPARALLEL_EXACT_END
