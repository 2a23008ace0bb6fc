// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/swiglu_gradient.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <hyperparallel/kernels/swiglu.hpp>

namespace {

namespace hp = hyperparallel;
using std::int64_t;
using std::size_t;

constexpr int64_t rows = 7, width = 21, pitch_in = 2 * width + 3, pitch_out = width + 2, pitch_to = 2 * width + 5;

std::vector<float> noise(int64_t n, float deviation, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, deviation);
  std::vector<float> v(static_cast<size_t>(n));
  for (float& x : v) x = normal(random);
  return v;
}

struct pair_of {
  double gate, up;
};

pair_of exact(double gate, double up, double d) {
  const double s = 1.0 / (1.0 + std::exp(-gate));
  return {d * up * s * (1.0 + gate * (1.0 - s)), d * gate * s};
}

const std::vector<float> in = noise(rows * pitch_in, 4.0F, 1), d = noise(rows * pitch_out, 1.0F, 2);

TEST(SwigluGradient, AgreesWithDoublePrecisionAndKeepsToItsColumns) {
  std::vector<float> out(static_cast<size_t>(rows * pitch_to), 99.0F);
  hp::swiglu_gradient(rows, width, in.data(), pitch_in, d.data(), pitch_out, out.data(), pitch_to);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 2 * width; i < pitch_to; ++i) ASSERT_EQ(out[static_cast<size_t>(r * pitch_to + i)], 99.0F);
    for (int64_t i = 0; i < width; ++i) {
      const double gate = static_cast<double>(in[static_cast<size_t>(r * pitch_in + i)]);
      const double up = static_cast<double>(in[static_cast<size_t>(r * pitch_in + width + i)]);
      const double from = static_cast<double>(d[static_cast<size_t>(r * pitch_out + i)]);
      const pair_of wanted = exact(gate, up, from);
      // Ten roundings of 6e-8 at most. 1 + gate · (1 − s) crosses 0, so the scale is that of its terms.
      const double s = 1.0 / (1.0 + std::exp(-gate));
      const double scale = std::abs(from * up) * s * (1.0 + std::abs(gate));
      ASSERT_NEAR(static_cast<double>(out[static_cast<size_t>(r * pitch_to + i)]), wanted.gate, 6e-7 * scale);
      ASSERT_NEAR(static_cast<double>(out[static_cast<size_t>(r * pitch_to + width + i)]), wanted.up,
                  6e-7 * std::abs(wanted.up));
    }
  }
}

// Central differences of the float kernel with step h = 2^-6 around 1: truncation h² |f'''| / 6 < 5e-5 |up|, rounding
// 2e-7 |out| / h < 2e-5 · (1 + |out|).
TEST(SwigluGradient, IsTheSlopeOfTheForwardKernel) {
  const float step = 0.015625F, one = 1.0F;
  int places = 0;
  for (int g = -24; g <= 24; ++g)
    for (int u = -6; u <= 6; ++u) {
      const float at[2] = {static_cast<float>(g) / 4.0F, static_cast<float>(u) / 2.0F};
      float gradient[2];
      hp::swiglu_gradient(1, 1, at, 2, &one, 1, gradient, 2);
      for (int which = 0; which < 2; ++which) {
        float up[2] = {at[0], at[1]}, down[2] = {at[0], at[1]}, rise, fall;
        up[which] += step;
        down[which] -= step;
        hp::swiglu(1, 1, up, 2, &rise, 1);
        hp::swiglu(1, 1, down, 2, &fall, 1);
        const double slope = (static_cast<double>(rise) - static_cast<double>(fall)) / (2 * static_cast<double>(step));
        const double tolerance =
            5e-5 * std::abs(static_cast<double>(at[1])) + 2e-5 * (1 + std::abs(static_cast<double>(rise)));
        ASSERT_NEAR(static_cast<double>(gradient[which]), slope, tolerance) << at[0] << " " << at[1];
        ++places;
      }
    }
  EXPECT_EQ(places, 49 * 13 * 2);
}

TEST(SwigluGradient, LargeGatesSaturateWithoutNan) {
  const float gates[] = {-200.0F, 200.0F, 0.0F, 3.0F, 3.0F, 3.0F}, from[] = {2.0F, 2.0F, 2.0F};
  float out[6];
  hp::swiglu_gradient(1, 3, gates, 6, from, 3, out, 6);
  EXPECT_EQ(out[0], 0.0F);
  EXPECT_EQ(out[1], 6.0F);
  EXPECT_EQ(out[2], 3.0F);
  EXPECT_EQ(out[3], 0.0F);
  EXPECT_EQ(out[4], 400.0F);
  EXPECT_EQ(out[5], 0.0F);
}

TEST(SwigluGradient, AnySplitOfRowsAndWorkInPlaceGiveTheSameBits) {
  std::vector<float> whole(static_cast<size_t>(rows * pitch_in), 5.0F);
  hp::swiglu_gradient(rows, width, in.data(), pitch_in, d.data(), pitch_out, whole.data(), pitch_in);
  for (int64_t tile = 1; tile <= rows; ++tile) {
    std::vector<float> parts(whole.size(), 5.0F);
    for (int64_t r = 0; r < rows; r += tile)
      hp::swiglu_gradient(std::min(tile, rows - r), width, in.data() + r * pitch_in, pitch_in, d.data() + r * pitch_out,
                          pitch_out, parts.data() + r * pitch_in, pitch_in);
    EXPECT_EQ(std::memcmp(parts.data(), whole.data(), whole.size() * sizeof(float)), 0) << tile;
  }
  std::vector<float> place = in;
  hp::swiglu_gradient(rows, width, place.data(), pitch_in, d.data(), pitch_out, place.data(), pitch_in);
  for (int64_t r = 0; r < rows; ++r)
    EXPECT_EQ(std::memcmp(place.data() + r * pitch_in, whole.data() + r * pitch_in, 2 * width * sizeof(float)), 0) << r;
}

TEST(SwigluGradient, NoRowsWriteNothing) {
  float untouched = 3.0F;
  hp::swiglu_gradient(0, width, in.data(), pitch_in, d.data(), pitch_out, &untouched, pitch_to);
  EXPECT_EQ(untouched, 3.0F);
}

}  // namespace
