// SPDX-License-Identifier: Apache-2.0
// Short convolutions against their definition; gradients are held by check_operator.
#include <hyperparallel/kernels/ops/short_convolution.hpp>

#include <gtest/gtest.h>

#include "operator_cases.hpp"

namespace {

using namespace kernel_test;
using hp::id_of;
namespace ops = hp::ops;

TEST(ShortConvolution, IsItsDefinition) {
  std::mt19937 random(2);
  for (const extent_t tokens : {1, 3, 9})
    for (const extent_t taps : {1, 4}) {
      letter_extents e("bSmdU", random, 4);
      e.of[static_cast<int>('S')] = tokens;
      e.of[static_cast<int>('U')] = taps;
      const extent_t channels = e.of[static_cast<int>('m')] * e.of[static_cast<int>('d')];
      run_case<double> c(id_of<ops::short_convolution>, "bSmd,mdU->bSmd", "nn", {}, e, random);
      c.run_whole();
      std::vector<double> expected;
      for (extent_t b = 0; b < e.of[static_cast<int>('b')]; ++b)
        for (extent_t t = 0; t < tokens; ++t)
          for (extent_t ch = 0; ch < channels; ++ch) {
            double z = 0;
            for (extent_t back = 0; back < taps && back <= t; ++back)
              z += c.operand[1].values[at(ch * taps + taps - 1 - back)] *
                   c.operand[0].values[at((b * tokens + t - back) * channels + ch)];
            expected.push_back(z / (1 + std::exp(-z)));
          }
      EXPECT_LE(largest_difference(c.result[0].values, expected), 1e-14);
    }
}

// The law: no channel and no batch depends on another, so cuts of them keep every bit of y and dx.
TEST(ShortConvolution, CutsOfChannelsKeepTheBits) {
  std::mt19937 random(3);
  letter_extents e("bSmdU", random, 4);
  e.of[static_cast<int>('m')] = 3;
  run_case<double> c(id_of<ops::short_convolution>, "bSmd,mdU->bSmd", "nn", {}, e, random),
      d(id_of<ops::short_convolution_gradient>, "bSmd,bSmd,mdU->bSmd,mdU", "nnn", {}, e, random);
  for (run_case<double>* run : {&c, &d}) {
    run->run_whole();
    std::vector<std::vector<extent_t>> cuts(at(run->op.loop_count));
    for (int l = 0; l < run->op.loop_count; ++l) {
      const extent_t n = run->op.loop[l].extent;
      cuts[at(l)] = run->letter_of(l) == 'm' ? std::vector<extent_t>{1, n} : std::vector<extent_t>{n};
    }
    const auto joined = run->run_cut(cuts);
    for (std::size_t r = 0; r < joined.size(); ++r) EXPECT_EQ(joined[r].values, run->result[r].values) << r;
  }
}

// Dims that are not those of a convolution are refused.
TEST(ShortConvolution, RefusesOtherDims) {
  std::mt19937 random(3);
  run_case<double> c(id_of<ops::short_convolution>, "bSmd,dU->bSmd", "nn", {}, random);
  EXPECT_THROW(c.run_whole(), std::invalid_argument);
}

}  // namespace
