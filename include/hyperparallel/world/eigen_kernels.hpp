// SPDX-License-Identifier: Apache-2.0
#pragma once
// Optional back end: the matrix product by Eigen, with the portable kernel's signature. Needs Eigen 3.4 on the include
// path; no header of the library includes this one.
//
// Eigen chooses its own blocking and fuses where the target can, so the tiling law of the portable kernel does not
// hold: two tilings agree up to rounding only. Runs of one plan are still bit-equal, since a task's tile shape is part
// of the plan.

#include <cstdint>

#include <Eigen/Core>

#include <hyperparallel/kernels/gemm.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// As `gemm`, up to the order of each sum. Domain: leading dimensions ≥ 1.
inline void eigen_gemm(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lead_a,
                       const float* b, std::int64_t lead_b, float* c, std::int64_t lead_c,
                       gemm_mode mode = gemm_mode::overwrite) {
  using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using pitch = Eigen::OuterStride<>;
  const Eigen::Map<const matrix, 0, pitch> left(a, m, k, pitch(lead_a));
  const Eigen::Map<const matrix, 0, pitch> right(b, k, n, pitch(lead_b));
  Eigen::Map<matrix, 0, pitch> out(c, m, n, pitch(lead_c));
  if (mode == gemm_mode::overwrite)
    out.noalias() = left * right;
  else
    out.noalias() += left * right;
}

}}  // namespace hyperparallel::v0_2
