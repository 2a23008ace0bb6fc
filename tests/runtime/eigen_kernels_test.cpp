// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#if __has_include(<Eigen/Core>)
#include <hyperparallel/runtime/eigen_kernels.hpp>

#include "kernels/gemm_check.hpp"

TEST(EigenKernels, AgreeWithDoublePrecision) {
  hyperparallel::testing_gemm::check_against_double(hyperparallel::eigen_gemm);
}
#else
TEST(EigenKernels, AgreeWithDoublePrecision) { GTEST_SKIP() << "built without Eigen on the include path"; }
#endif
