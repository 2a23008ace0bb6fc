// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/runtime/kernels/top_k.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace {

namespace hp = hyperparallel;

// All score vectors of length up to 6 over three values: every pattern of ties there is.
TEST(TopK, FallsInScoreAndRisesInIndexAmongEquals) {
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
        hp::top_k(n, k, score.data(), index.data(), value.data());
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

TEST(TopK, ANanRanksBelowEveryNumber) {
  const float score[] = {NAN, -INFINITY, NAN, 1.0F};
  int index[4];
  float value[4];
  hp::top_k(4, 4, score, index, value);
  EXPECT_EQ(index[0], 3);
  EXPECT_EQ(index[1], 1);
  EXPECT_EQ(index[2], 0);
  EXPECT_EQ(index[3], 2);
}

}  // namespace
