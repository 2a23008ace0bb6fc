// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/operations/normalization.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

#include <hyperparallel/dtensor/creation.hpp>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
using rows = hp::layout<mesh, hp::axes("dp", "tp"), hp::none>;
using matrix = hp::dtensor<float, hp::extents<4, 6>, rows>;
using width = hp::dtensor<float, hp::extents<6>, hp::layout<mesh, hp::none>>;

class normalization : public testing::Test {
 protected:
  hp::rank_group ranks{4, {.threads = 1}};
  matrix x = hp::randn<matrix>(ranks, {.seed = 5});
  width w = hp::arange<width>(ranks, 1);
};

TEST_F(normalization, softmax_sums_to_one_along_its_dim) {
  const auto p = softmax(x), l = log_softmax(x);
  static_assert(std::is_same_v<decltype(p), const matrix>);
  const auto v = p.full_tensor();
  for (std::size_t r = 0; r < 4; ++r) {
    float sum = 0;
    for (std::size_t c = 0; c < 6; ++c) sum += v[6 * r + c];
    EXPECT_NEAR(sum, 1, 1e-6);
  }
  EXPECT_NEAR(l.full_tensor()[7], std::log(v[7]), 1e-5);
  static_assert(!hp::applies<hp::operations::softmax{0}, matrix>);
}

TEST_F(normalization, norms_are_those_of_whole_rows) {
  const auto v = x.full_tensor(), rms = rms_norm(x, w).full_tensor(), ln = layer_norm(x, w, w).full_tensor(),
             plain = layer_norm(x, w).full_tensor();
  for (std::size_t r = 0; r < 4; ++r) {
    double squares = 0, mean = 0, variance = 0;
    for (std::size_t c = 0; c < 6; ++c) {
      squares += static_cast<double>(v[6 * r + c]) * v[6 * r + c] / 6;
      mean += v[6 * r + c] / 6.0;
    }
    for (std::size_t c = 0; c < 6; ++c) variance += std::pow(v[6 * r + c] - mean, 2) / 6;
    for (std::size_t c = 0; c < 6; ++c) {
      const double by = static_cast<double>(c) + 1;
      EXPECT_NEAR(rms[6 * r + c], v[6 * r + c] / std::sqrt(squares + 1e-6) * by, 1e-5);
      EXPECT_NEAR(ln[6 * r + c], (v[6 * r + c] - mean) / std::sqrt(variance + 1e-5) * by + by, 1e-5);
      EXPECT_NEAR(plain[6 * r + c], ln[6 * r + c] - by, 1e-5);
    }
  }
}

TEST_F(normalization, packed_swiglu_and_cross_entropy) {
  const auto v = x.full_tensor();
  const auto g = packed_swiglu(x);
  static_assert(std::is_same_v<decltype(g)::extents, hp::extents<4, 3>>);
  EXPECT_NEAR(g.full_tensor()[4], v[7] / (1 + std::exp(-v[7])) * v[10], 1e-6);
  using labels = hp::dtensor<int, hp::extents<4>, hp::layout<mesh, hp::axes("dp", "tp")>>;
  const auto loss = cross_entropy(x, hp::arange<labels>(ranks)).full_tensor();
  for (std::size_t r = 0; r < 4; ++r) EXPECT_NEAR(loss[r], -log_softmax(x).full_tensor()[7 * r], 1e-5);
}

}  // namespace
