// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/ops/layer_norm.hpp>

#include <gtest/gtest.h>

#include "operator_cases.hpp"

namespace {

using namespace kernel_test;
using hp::id_of;
namespace ops = hp::ops;

// Rows of mean 0 and deviation 1, then the weight and the bias: element by element.
TEST(LayerNorm, IsTheDefinition) {
  std::mt19937 random(3);
  run_case<double> c(id_of<ops::layer_norm>, "xyH,H,H->xyH", "nnn", {{}, {0.25}}, random);
  c.run_whole();
  const std::vector<double>&x = c.operand[0].values, &weight = c.operand[1].values, &bias = c.operand[2].values;
  const std::size_t width = weight.size();
  for (std::size_t row = 0; row < x.size(); row += width) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < width; ++i) mean += x[row + i] / static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i)
      variance += (x[row + i] - mean) * (x[row + i] - mean) / static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i)
      EXPECT_NEAR(c.result[0].values[row + i], (x[row + i] - mean) / std::sqrt(variance + 0.25) * weight[i] + bias[i],
                  1e-14);
  }
}

// A group norm of one position and one group is a layer norm, bit for bit.
TEST(LayerNorm, IsAGroupNormOfOnePlace) {
  std::mt19937 random(4);
  run_case<float> layer(id_of<ops::layer_norm>, "xH,H,H->xH", "nnn", {{}, {1e-3}}, random);
  layer.run_whole();
  letter_extents extents("xgHP", random);
  extents.of[static_cast<int>('x')] = layer.op.loop[0].extent;
  extents.of[static_cast<int>('H')] = layer.op.loop[1].extent;
  extents.of[static_cast<int>('g')] = extents.of[static_cast<int>('P')] = 1;
  run_case<float> group(id_of<ops::group_norm>, "xgHP,gH,gH->xgHP", "nnn", {{}, {1e-3}}, extents, random);
  group.operand = layer.operand;
  group.run_whole();
  EXPECT_EQ(group.result[0].values, layer.result[0].values);
}

TEST(LayerNorm, RefusesAWeightThatIsNotOfItsChannels) {
  std::mt19937 random(5);
  run_case<float> c(id_of<ops::group_norm>, "xgHP,Hg,Hg->xgHP", "nnn", {{}, {1e-3}}, random);
  EXPECT_THROW(c.run_whole(), std::invalid_argument);
}

}  // namespace
