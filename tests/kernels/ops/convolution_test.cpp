// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/ops/convolution.hpp>

#include <gtest/gtest.h>

#include "operator_cases.hpp"

namespace {

using namespace kernel_test;
using hp::id_of;
namespace ops = hp::ops;

letter_extents sizes(extent_t positions, extent_t taps, extent_t out, std::mt19937& random) {
  letter_extents e("bocPQUVYX", random, 4);
  e.of[static_cast<int>('P')] = e.of[static_cast<int>('Q')] = positions;
  e.of[static_cast<int>('U')] = e.of[static_cast<int>('V')] = taps;
  e.of[static_cast<int>('Y')] = e.of[static_cast<int>('X')] = out;
  return e;
}

// Strides and paddings, against the convolution of distributed tensors, which is tested by itself.
TEST(Convolution, IsThatOfDistributedTensors) {
  std::mt19937 random(3);
  for (const extent_t stride : {1, 2, 3})
    for (const extent_t padding : {0, 1, 2}) {
      const letter_extents e = sizes(9, 3, hp::kernels::detail::convolution_extent(9, 3, stride, padding, 1), random);
      run_case<double> c(id_of<ops::convolution>, "bcPQ,ocUV->boYX", "nn", {{stride, padding}}, e, random);
      c.run_whole();
      const auto shape_of = [&](const char* letters) {
        hp::shape s;
        for (; *letters != '\0'; ++letters) s.extent[s.rank++] = e.of[static_cast<int>(*letters)];
        return s;
      };
      std::vector<double> expected(c.result[0].values.size());
      hp::kernels::convolution_options o;
      for (int d = 0; d < 2; ++d) {
        o.stride[d] = stride;
        o.padding[d] = padding;
      }
      hp::kernels::convolution(hp::const_view<double>{c.operand[0].values.data(), shape_of("bcPQ")},
                               hp::const_view<double>{c.operand[1].values.data(), shape_of("ocUV")}, {},
                               hp::tensor_view<double>{expected.data(), shape_of("boYX")}, o);
      EXPECT_LE(largest_difference(c.result[0].values, expected), 1e-14) << stride << " " << padding;
    }
}

TEST(Convolution, RefusesPositionsThatStrideAndPaddingDoNotMake) {
  std::mt19937 random(4);
  const auto run = [&](int stride, int made) {
    run_case<double>(id_of<ops::convolution>, "bcPQ,ocUV->boYX", "nn", {{stride, 0}}, sizes(9, 3, made, random), random)
        .run_whole();
  };
  EXPECT_THROW(run(1, 8), std::invalid_argument);
  EXPECT_THROW(run(0, 7), std::invalid_argument);
}

}  // namespace
