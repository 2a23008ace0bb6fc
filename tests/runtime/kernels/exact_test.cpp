// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/runtime/kernels/exact.hpp>

#include <gtest/gtest.h>

namespace {

HYPERPARALLEL_EXACT float product_plus(float a, float b, float c) {
  HYPERPARALLEL_EXACT_BODY
  return a * b + c;
}

HYPERPARALLEL_EXACT void sum_products(int n, const float* a, const float* b, float* sum) {
  HYPERPARALLEL_EXACT_BODY
  for (int i = 0; i < n; ++i) sum[i] += a[i] * b[i];
}

// (1 + 2^-12)² = 1 + 2^-11 + 2^-24; rounded by itself the product loses its last term, fused with the sum it would keep
// it.
constexpr float root = 1.0F + 1.0F / 4096.0F;
constexpr float rounded = 1.0F + 1.0F / 2048.0F;

TEST(Exact, AProductIsRoundedBeforeTheSum) { EXPECT_EQ(product_plus(root, root, -rounded), 0.0F); }

TEST(Exact, TheBodyOfALoopAndItsRemainderRoundAlike) {
  for (int n = 0; n <= 37; ++n) {
    float a[37], sum[37];
    for (int i = 0; i < n; ++i) {
      a[i] = root;
      sum[i] = -rounded;
    }
    sum_products(n, a, a, sum);
    for (int i = 0; i < n; ++i) ASSERT_EQ(sum[i], 0.0F) << i << " of " << n;
  }
}

}  // namespace
