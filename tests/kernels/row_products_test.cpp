// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/row_products.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/noise.hpp"

namespace {

namespace hp = hyperparallel;
using kernel_test::noise;
using std::int64_t;
using std::size_t;

constexpr int64_t tokens = 17, width = 23, pitch_token = 26, pitch_row = 25;

std::vector<hp::routed_row> routed(int64_t rows, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> weight(0.0F, 1.0F);
  std::vector<hp::routed_row> list;
  for (int64_t i = 0; i < rows; ++i) list.push_back({static_cast<int>(random() % tokens), weight(random)});
  return list;
}

const std::vector<float> of_tokens = noise(tokens * pitch_token, 1), of_rows = noise(64 * pitch_row, 2);

float token_value(const hp::routed_row& row, int64_t c) {
  return of_tokens[static_cast<size_t>(row.token * pitch_token + c)];
}
float row_value(int64_t i, int64_t c) { return of_rows[static_cast<size_t>(i * pitch_row + c)]; }

// Counts around the four rows that are computed together, and none.
const int64_t counts[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 61};

TEST(RowProducts, ScaleTakesTheTokensRowTimesTheWeight) {
  for (const int64_t rows : counts) {
    const auto row = routed(rows, 3);
    std::vector<float> out(static_cast<size_t>(rows * pitch_row) + 1, 9.0F);
    hp::scale_rows(rows, width, of_tokens.data(), pitch_token, row.data(), out.data(), pitch_row);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t c = 0; c < pitch_row; ++c) {
        const hp::routed_row& from = row[static_cast<size_t>(i)];
        ASSERT_EQ(out[static_cast<size_t>(i * pitch_row + c)], c < width ? from.weight * token_value(from, c) : 9.0F);
      }
    EXPECT_EQ(out.back(), 9.0F);
  }
}

TEST(RowProducts, DotIsTheLeftToRightSumOfRoundedProducts) {
  for (const int64_t rows : counts)
    for (const hp::gemm_mode mode : {hp::gemm_mode::overwrite, hp::gemm_mode::accumulate}) {
      const auto row = routed(rows, 4);
      const std::vector<float> before = noise(rows + 1, 5);
      std::vector<float> out = before;
      hp::dot_rows(rows, width, of_tokens.data(), pitch_token, row.data(), of_rows.data(), pitch_row, out.data(), mode);
      for (int64_t i = 0; i < rows; ++i) {
        const float start = mode == hp::gemm_mode::accumulate ? before[static_cast<size_t>(i)] : 0.0F;
        volatile float sum = start;  // volatile: every product and every sum is rounded by itself
        double exact = static_cast<double>(start), scale = std::abs(exact);
        for (int64_t c = 0; c < width; ++c) {
          const float left = token_value(row[static_cast<size_t>(i)], c), right = row_value(i, c);
          volatile float product = left * right;
          sum = sum + product;
          exact += static_cast<double>(left) * static_cast<double>(right);
          scale += std::abs(static_cast<double>(left) * static_cast<double>(right));
        }
        const float wanted = sum;
        ASSERT_EQ(out[static_cast<size_t>(i)], wanted) << rows << " rows, row " << i;
        // width + 1 roundings of 6e-8, of sums no larger than the sum of absolute values.
        ASSERT_NEAR(static_cast<double>(wanted), exact, static_cast<double>(width + 1) * 6e-8 * scale);
      }
      EXPECT_EQ(out.back(), before.back()) << "wrote past its rows";
    }
}

TEST(RowProducts, AddSumsInListOrder) {
  for (const int64_t rows : counts) {
    const auto row = routed(rows, 6);
    std::vector<float> out = of_tokens, wanted = of_tokens;
    hp::add_rows(rows, width, of_rows.data(), pitch_row, row.data(), out.data(), pitch_token);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t c = 0; c < width; ++c)
        wanted[static_cast<size_t>(row[static_cast<size_t>(i)].token * pitch_token + c)] += row_value(i, c);
    ASSERT_EQ(out, wanted);
  }
  // In float, 1 + 1 + 2^24 is 2^24 + 2, and 2^24 + 1 + 1 is 2^24.
  const float rising[] = {1.0F, 1.0F, 16777216.0F}, falling[] = {16777216.0F, 1.0F, 1.0F};
  const hp::routed_row same[] = {{0, 0.5F}, {0, 0.5F}, {0, 0.5F}};
  float up = 0.0F, down = 0.0F;
  hp::add_rows(3, 1, rising, 1, same, &up, 1);
  hp::add_rows(3, 1, falling, 1, same, &down, 1);
  EXPECT_EQ(up, 16777218.0F);
  EXPECT_EQ(down, 16777216.0F);
}

TEST(RowProducts, AnySplitOfRowsAndOfColumnsInOrderGivesTheSameBits) {
  constexpr int64_t rows = 61;
  const auto row = routed(rows, 7);
  const auto run = [&](int64_t tile_rows, int64_t tile_columns) {
    struct {
      std::vector<float> scaled = std::vector<float>(rows * pitch_row), dot = std::vector<float>(rows, NAN),
                         sum = of_tokens;
    } r;
    for (int64_t c = 0; c < width; c += tile_columns)
      for (int64_t i = 0; i < rows; i += tile_rows) {
        const int64_t n = std::min(tile_rows, rows - i), columns = std::min(tile_columns, width - c);
        hp::scale_rows(n, columns, of_tokens.data() + c, pitch_token, row.data() + i,
                       r.scaled.data() + i * pitch_row + c, pitch_row);
        hp::dot_rows(n, columns, of_tokens.data() + c, pitch_token, row.data() + i, of_rows.data() + i * pitch_row + c,
                     pitch_row, r.dot.data() + i, c == 0 ? hp::gemm_mode::overwrite : hp::gemm_mode::accumulate);
        hp::add_rows(n, columns, of_rows.data() + i * pitch_row + c, pitch_row, row.data() + i, r.sum.data() + c,
                     pitch_token);
      }
    return r;
  };
  const auto whole = run(rows, width);
  for (int64_t tile_rows = 1; tile_rows <= rows; ++tile_rows)
    for (int64_t tile_columns = 1; tile_columns <= width; ++tile_columns) {
      const auto parts = run(tile_rows, tile_columns);
      ASSERT_EQ(parts.scaled, whole.scaled) << tile_rows << "x" << tile_columns;
      ASSERT_EQ(parts.dot, whole.dot) << tile_rows << "x" << tile_columns;
      ASSERT_EQ(parts.sum, whole.sum) << tile_rows << "x" << tile_columns;
    }
}

// accumulate_rows is linear in the rows and in the weights, so a central difference has rounding alone: of `width`
// outputs of size < 30 for a weight, of one for an element, two roundings of 6e-8 each, times |dY| < 4.
TEST(RowProducts, AreTheGradientsOfTheWeightedSum) {
  constexpr int64_t rows = 40;
  const auto row = routed(rows, 8);
  const auto loss = [&](const std::vector<float>& from, const std::vector<hp::routed_row>& by) {
    std::vector<float> out(tokens * width, 0.0F);
    hp::accumulate_rows(rows, width, from.data(), pitch_row, by.data(), out.data(), width);
    double sum = 0;
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t c = 0; c < width; ++c)
        sum += static_cast<double>(out[static_cast<size_t>(t * width + c)]) *
               static_cast<double>(of_tokens[static_cast<size_t>(t * pitch_token + c)]);
    return sum;
  };
  std::vector<float> scaled(rows * width), dot(rows);
  hp::scale_rows(rows, width, of_tokens.data(), pitch_token, row.data(), scaled.data(), width);
  hp::dot_rows(rows, width, of_tokens.data(), pitch_token, row.data(), of_rows.data(), pitch_row, dot.data());
  for (int64_t i = 0; i < rows; ++i) {
    auto up = row, down = row;
    up[static_cast<size_t>(i)].weight += 1.0F;
    down[static_cast<size_t>(i)].weight -= 1.0F;
    const double distance = static_cast<double>(up[static_cast<size_t>(i)].weight) -
                            static_cast<double>(down[static_cast<size_t>(i)].weight);
    ASSERT_NEAR(static_cast<double>(dot[static_cast<size_t>(i)]), (loss(of_rows, up) - loss(of_rows, down)) / distance,
                5e-4);
    for (int64_t c = 0; c < width; ++c) {
      auto more = of_rows, less = of_rows;
      more[static_cast<size_t>(i * pitch_row + c)] += 1.0F;
      less[static_cast<size_t>(i * pitch_row + c)] -= 1.0F;
      const double span = static_cast<double>(more[static_cast<size_t>(i * pitch_row + c)]) -
                          static_cast<double>(less[static_cast<size_t>(i * pitch_row + c)]);
      ASSERT_NEAR(static_cast<double>(scaled[static_cast<size_t>(i * width + c)]),
                  (loss(more, row) - loss(less, row)) / span, 5e-5);
    }
  }
}

}  // namespace
