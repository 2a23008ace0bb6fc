// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/product_tile.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace {

namespace hp = hyperparallel;
namespace tiles = hp::kernels::detail;
using hp::extent_t;

template <class T>
std::vector<T> noise(extent_t n, int seed) {
  std::vector<T> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<T>(std::sin(1.7 * static_cast<double>(i) + seed));
  return v;
}

/// Every tile that this machine can run.
template <class T>
std::vector<tiles::product_tile<T>> tiles_here() {
  std::vector<tiles::product_tile<T>> all{{tiles::narrow_product_tile<T>, 1}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0) all.push_back({tiles::wide_product_tile<T>, 1});
  if (__builtin_cpu_supports("avx512f") != 0) all.push_back({tiles::widest_product_tile<T>, 2});
#endif
  all.push_back(tiles::choose_product_tile<T>());
  return all;
}

// Terms left to right, whatever the width of the vectors, the pitch of the rows and what becomes of what is there.
template <class T>
void check() {
  constexpr extent_t columns = tiles::strip_columns<T>, rows = tiles::tile_rows, pitch = 2 * columns + 3;
  for (const extent_t terms : {1, 7, 100, 256})
    for (const bool add : {false, true})
      for (const tiles::product_tile<T>& tile : tiles_here<T>()) {
        const std::vector<T> left = noise<T>(rows * terms, 1), right = noise<T>(tile.strips * columns * terms, 2);
        const std::vector<T> before = noise<T>(rows * pitch, 3);
        std::vector<T> got = before;
        tile.run(terms, left.data(), right.data(), got.data(), pitch, add);
        for (extent_t i = 0; i < rows; ++i)
          for (extent_t j = 0; j < pitch; ++j) {
            const auto at = static_cast<std::size_t>(i * pitch + j);
            T expected = before[at];
            if (j < tile.strips * columns) {
              const T* const strip = right.data() + j / columns * terms * columns + j % columns;
              T sum = T(0);
              for (extent_t p = 0; p < terms; ++p) {
                const volatile T product = left[static_cast<std::size_t>(p * rows + i)] * strip[p * columns];
                sum += product;
              }
              expected = add ? before[at] + sum : sum;
            }
            ASSERT_EQ(got[at], expected) << terms << " terms, row " << i << ", column " << j;
          }
      }
}

TEST(ProductTile, TheWidthOfVectorsChangesNoBit) {
  check<float>();
  check<double>();
}

TEST(ProductTile, OneIsChosenForAll) {
  EXPECT_EQ(tiles::choose_product_tile<float>().run, tiles::choose_product_tile<float>().run);
  EXPECT_GE(tiles::choose_product_tile<double>().strips, 1);
}

}  // namespace
