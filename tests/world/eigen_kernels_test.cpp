// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/eigen_kernels.hpp>

#include <gtest/gtest.h>

#include "kernels/gemm_check.hpp"

TEST(EigenKernels, AgreeWithDoublePrecision) {
  hyperparallel::testing_gemm::check_against_double(hyperparallel::eigen_gemm);
}
