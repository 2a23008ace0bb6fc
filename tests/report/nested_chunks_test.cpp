// SPDX-License-Identifier: Apache-2.0
// Chunks of padded dims that hp explain tells: ours are those of layouts, DTensor's those of its axes one after the other.

#include <hyperparallel/report/nested_chunks.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace hp = hyperparallel;

TEST(NestedChunks, BothAreTheWholeDim) {
  std::mt19937 random(51);
  int differ = 0;
  for (int i = 0; i < 2000; ++i) {
    const hp::extent_t extent = static_cast<hp::extent_t>(random() % 50);
    std::vector<hp::extent_t> sizes;
    hp::extent_t pieces = 1;
    for (std::size_t n = 1 + random() % 3; n > 0; --n) sizes.push_back(1 + static_cast<hp::extent_t>(random() % 4));
    for (const hp::extent_t size : sizes) pieces *= size;
    const std::vector<hp::extent_t> ours = hp::report::detail::flat_chunks(extent, pieces),
                                    theirs = hp::report::detail::nested_chunks(extent, sizes);
    ASSERT_EQ(ours.size(), theirs.size());
    EXPECT_EQ(std::accumulate(ours.begin(), ours.end(), hp::extent_t{0}), extent);
    EXPECT_EQ(std::accumulate(theirs.begin(), theirs.end(), hp::extent_t{0}), extent);
    // Piece p of DTensor, from the definition: the digits of p, outermost first, cut what the ones before have left.
    for (hp::extent_t p = 0; p < pieces; ++p) {
      hp::extent_t left = extent, below = pieces, at = p;
      for (const hp::extent_t size : sizes) {
        below /= size;
        const hp::extent_t chunk = (left + size - 1) / size, begin = at / below * chunk;
        left = begin >= left ? 0 : std::min(chunk, left - begin);
        at %= below;
      }
      EXPECT_EQ(theirs[static_cast<std::size_t>(p)], left);
    }
    if (sizes.size() == 1 || extent % pieces == 0) {
      EXPECT_EQ(ours, theirs);
    }
    differ += ours != theirs;
  }
  EXPECT_GT(differ, 100);
}
