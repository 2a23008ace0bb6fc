// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/runtime/kernels/rows.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "runtime/kernels/noise.hpp"

namespace {

namespace hp = hyperparallel;
using kernel_test::noise;
using std::int64_t;

constexpr int64_t count = 9, width = 13, pitch = 15;

TEST(Rows, ScatterUndoesGatherForAPermutation) {
  const std::vector<float> from = noise(count * pitch, 1);
  std::vector<int64_t> row(count);
  std::iota(row.begin(), row.end(), int64_t{0});
  std::shuffle(row.begin(), row.end(), std::mt19937(5));
  std::vector<float> there(count * width), back(count * pitch, 0.0F);
  hp::gather_rows(count, width, from.data(), pitch, row.data(), there.data(), width);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t c = 0; c < width; ++c)
      ASSERT_EQ(there[static_cast<std::size_t>(i * width + c)],
                from[static_cast<std::size_t>(row[static_cast<std::size_t>(i)] * pitch + c)]);
  hp::scatter_rows(count, width, there.data(), width, row.data(), back.data(), pitch);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t c = 0; c < pitch; ++c)
      ASSERT_EQ(back[static_cast<std::size_t>(i * pitch + c)],
                c < width ? from[static_cast<std::size_t>(i * pitch + c)] : 0.0F);
}

TEST(Rows, NoRowGathersZerosAndScattersNothing) {
  const std::vector<float> from = noise(2 * width, 2);
  const int64_t row[] = {hp::no_row, 1};
  std::vector<float> to(2 * width, 7.0F);
  hp::gather_rows(2, width, from.data(), width, row, to.data(), width);
  EXPECT_EQ(to[0], 0.0F);
  EXPECT_EQ(to[width], from[width]);
  std::vector<float> target(2 * width, 7.0F);
  hp::scatter_rows(2, width, from.data(), width, row, target.data(), width);
  EXPECT_EQ(target[0], 7.0F);
  EXPECT_EQ(target[width], from[width]);
}

TEST(Rows, CombineAddsInListOrderWithEveryProductRounded) {
  const int k = 3;
  const std::vector<float> from = noise(count * pitch, 3), weight = noise(count * k, 4);
  std::vector<int64_t> row(count * k);
  std::mt19937 random(6);
  for (int64_t& r : row) r = static_cast<int64_t>(random() % (count + 1)) - 1;
  std::vector<float> whole(count * width, NAN);
  hp::combine_rows(count, width, k, from.data(), pitch, row.data(), weight.data(), whole.data(), width);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t c = 0; c < width; ++c) {
      volatile float sum = 0.0F;  // volatile: every product and every sum is rounded by itself
      double exact = 0.0;
      for (int64_t j = i * k; j < (i + 1) * k; ++j) {
        const int64_t r = row[static_cast<std::size_t>(j)];
        if (r < 0) continue;
        const float value = from[static_cast<std::size_t>(r * pitch + c)];
        volatile float product = weight[static_cast<std::size_t>(j)] * value;
        sum = sum + product;
        exact += static_cast<double>(weight[static_cast<std::size_t>(j)]) * static_cast<double>(value);
      }
      const float expected = sum;
      ASSERT_EQ(whole[static_cast<std::size_t>(i * width + c)], expected);
      ASSERT_NEAR(static_cast<double>(expected), exact, 1e-5);
    }
  for (int64_t tile = 1; tile < count; ++tile) {
    std::vector<float> parts(whole.size());
    for (int64_t i = 0; i < count; i += tile)
      hp::combine_rows(std::min(tile, count - i), width, k, from.data(), pitch, row.data() + i * k,
                       weight.data() + i * k, parts.data() + i * width, width);
    EXPECT_EQ(std::memcmp(parts.data(), whole.data(), whole.size() * sizeof(float)), 0) << tile;
  }
}

}  // namespace
