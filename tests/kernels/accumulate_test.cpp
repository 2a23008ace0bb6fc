// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include <hyperparallel/kernels/accumulate.hpp>

namespace hp = hyperparallel;

namespace {

struct batch {
  int tokens = 17, width = 23, rows = 60;
  std::vector<float> from, to;
  std::vector<hp::routed_row> row;
  explicit batch(unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> real(-1, 1);
    for (int i = 0; i < rows * width; ++i) from.push_back(real(random));
    for (int i = 0; i < tokens * width; ++i) to.push_back(real(random));
    for (int i = 0; i < rows; ++i) row.push_back({static_cast<int>(random() % 17), real(random)});
  }
  void add(int first, int last, int column, int columns) {
    hp::accumulate_rows(last - first, columns, from.data() + first * width + column, width, row.data() + first,
                        to.data() + column, width);
  }
};

TEST(accumulate_rows, equals_the_sum_in_list_order) {
  batch a(1), b(1);
  a.add(0, a.rows, 0, a.width);
  for (int i = 0; i < b.rows; ++i)
    for (int c = 0; c < b.width; ++c) {
      volatile float product =
          b.row[static_cast<std::size_t>(i)].weight * b.from[static_cast<std::size_t>(i * b.width + c)];
      b.to[static_cast<std::size_t>(b.row[static_cast<std::size_t>(i)].token * b.width + c)] += product;
    }
  EXPECT_EQ(a.to, b.to);
}

TEST(accumulate_rows, any_split_of_rows_and_columns_gives_the_same_bits) {
  batch whole(2);
  whole.add(0, whole.rows, 0, whole.width);
  for (int rows : {1, 7, 59})
    for (int columns : {1, 5, 22}) {
      batch parts(2);
      for (int c = 0; c < parts.width; c += columns)
        for (int r = 0; r < parts.rows; r += rows)
          parts.add(r, std::min(parts.rows, r + rows), c, std::min(columns, parts.width - c));
      EXPECT_EQ(parts.to, whole.to);
    }
}

TEST(accumulate_rows, no_rows_change_nothing) {
  batch a(3), b(3);
  a.add(0, 0, 0, a.width);
  EXPECT_EQ(a.to, b.to);
}

}  // namespace
