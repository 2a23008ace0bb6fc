// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/swiglu.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace {

namespace hp = hyperparallel;
using std::int64_t;

constexpr int64_t rows = 7, width = 21, pitch_in = 2 * width + 3, pitch_out = width + 2;

std::vector<float> input() {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0.0F, 4.0F);
  std::vector<float> v(static_cast<std::size_t>(rows * pitch_in));
  for (float& x : v) x = normal(random);
  return v;
}

TEST(Swiglu, AgreesWithDoublePrecisionAndKeepsToItsColumns) {
  const std::vector<float> in = input();
  std::vector<float> out(static_cast<std::size_t>(rows * pitch_out), 99.0F);
  hp::swiglu(rows, width, in.data(), pitch_in, out.data(), pitch_out);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < pitch_out; ++i) {
      const float got = out[static_cast<std::size_t>(r * pitch_out + i)];
      if (i >= width) {
        ASSERT_EQ(got, 99.0F);
        continue;
      }
      const double gate = static_cast<double>(in[static_cast<std::size_t>(r * pitch_in + i)]);
      const double up = static_cast<double>(in[static_cast<std::size_t>(r * pitch_in + width + i)]);
      const double exact = gate / (1.0 + std::exp(-gate)) * up;
      ASSERT_NEAR(static_cast<double>(got), exact, 1e-6 * std::abs(exact) + 1e-30);
    }
}

TEST(Swiglu, LargeGatesSaturateWithoutNan) {
  const float in[] = {-200.0F, 200.0F, 0.0F, 3.0F, 3.0F, 3.0F};
  float out[3];
  hp::swiglu(1, 3, in, 6, out, 3);
  EXPECT_EQ(out[0], 0.0F);
  EXPECT_EQ(out[1], 600.0F);
  EXPECT_EQ(out[2], 0.0F);
}

TEST(Swiglu, AnySplitOfRowsGivesTheSameBits) {
  const std::vector<float> in = input();
  std::vector<float> whole(static_cast<std::size_t>(rows * pitch_out));
  hp::swiglu(rows, width, in.data(), pitch_in, whole.data(), pitch_out);
  for (int64_t tile = 1; tile <= rows; ++tile) {
    std::vector<float> parts(whole.size());
    for (int64_t r = 0; r < rows; r += tile)
      hp::swiglu(std::min(tile, rows - r), width, in.data() + r * pitch_in, pitch_in, parts.data() + r * pitch_out,
                 pitch_out);
    EXPECT_EQ(std::memcmp(parts.data(), whole.data(), whole.size() * sizeof(float)), 0);
  }
}

}  // namespace
