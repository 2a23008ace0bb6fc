// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/exact.hpp>

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

// The flags of a user's command line, for the functions between here and the end of the namespace: fused operations are
// there, and the compiler may use them.
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("fma"))), apply_to = function)
#pragma float_control(push)
#pragma clang fp contract(fast)
#else
#pragma GCC push_options
#pragma GCC target("fma")
#pragma GCC optimize("O2", "fp-contract=fast")
#endif

template <class T>
[[gnu::noinline]] T fused(T a, T b, T c) {
  return a * b + c;
}

HYPERPARALLEL_UNFUSED_BEGIN

template <class T>
[[gnu::noinline]] T in_a_header_of_kernels(T a, T b, T c) {
  return a * b + c;
}
template <class T>
[[gnu::noinline]] T by_a_function_of_its_own(T a, T b, T c) {
  const auto product = [&] { return a * b; };
  return product() + c;
}

HYPERPARALLEL_UNFUSED_END

template <class T>
[[gnu::noinline]] T fused_again(T a, T b, T c) {
  return a * b + c;
}

#if defined(__clang__)
#pragma float_control(pop)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

TEST(Exact, AHeaderOfKernelsRoundsEveryOperationWhateverTheCommandLineAllows) {
  if (!__builtin_cpu_supports("fma")) GTEST_SKIP() << "the machine has no fused operations";
  // Volatile, so that no call is computed by the compiler.
  volatile float root_now = root, rounded_now = -rounded;
  volatile double fine_now = 1.0 + 1.0 / (1 << 30), coarse_now = -1.0 - 1.0 / (1 << 29);
  const float one = root_now, other = rounded_now;
  const double fine = fine_now, coarse = coarse_now;
#if defined(__OPTIMIZE__) || !defined(__clang__)
  // The twins beside the region show that the flags are those of the command line.
  EXPECT_NE(fused(one, one, other), 0.0F);
  EXPECT_NE(fused_again(one, one, other), 0.0F);
  EXPECT_NE(fused(fine, fine, coarse), 0.0);
#endif
  EXPECT_EQ(in_a_header_of_kernels(one, one, other), 0.0F);
  EXPECT_EQ(by_a_function_of_its_own(one, one, other), 0.0F);
  EXPECT_EQ(in_a_header_of_kernels(fine, fine, coarse), 0.0);
  EXPECT_EQ(by_a_function_of_its_own(fine, fine, coarse), 0.0);
}
#endif

#if defined(__clang__)
// clang defines no macro for the parts of -ffast-math, so headers of kernels take none of them.
#pragma float_control(push)
#pragma float_control(precise, off)

template <class T>
[[gnu::noinline]] T third_by_reciprocal(T a) {
  return a / T(3);
}

HYPERPARALLEL_EXACT_BEGIN

template <class T>
[[gnu::noinline]] T third(T a) {
  return a / T(3);
}

HYPERPARALLEL_EXACT_END

#pragma float_control(pop)

TEST(Exact, AHeaderOfKernelsTakesNoPartOfFastMath) {
  [[maybe_unused]] int differ = 0;
  for (int i = 1; i < 100; ++i) {
    const volatile float now = static_cast<float>(i);
    const float a = now;
    EXPECT_EQ(third(a), static_cast<float>(static_cast<double>(a) / 3.0));
    differ += third_by_reciprocal(a) != third(a);
  }
#if defined(__OPTIMIZE__)
  EXPECT_GT(differ, 0) << "the twin beside the region shows that the flags are those of the command line";
#endif
}
#endif

}  // namespace
