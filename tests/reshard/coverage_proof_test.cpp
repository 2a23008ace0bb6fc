// SPDX-License-Identifier: Apache-2.0
// The proof says what counting says.

#include "reshard/coverage_proof.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace rs = hp_tool::reshard;

TEST(CoverageProof, SaysWhatCountingSays) {
  std::mt19937_64 random(1);
  int good = 0;
  for (int round = 0; round < 20000; ++round) {
    // Columns and rows of an array, some of which are left out, doubled or moved.
    const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % 5),
                       columns = 1 + static_cast<std::int64_t>(random() % 6);
    std::vector<rs::strided_set> sets;
    for (std::int64_t c = 0; c < columns;) {
      const std::int64_t n = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(columns - c));
      sets.push_back({c, {{rows, columns}, {n, 1}}});
      c += n;
    }
    if (random() % 3 == 0) sets[random() % sets.size()].begin += static_cast<std::int64_t>(random() % 3) - 1;
    if (random() % 4 == 0) sets.push_back(sets[random() % sets.size()]);
    if (random() % 4 == 0) sets.erase(sets.begin());
    if (random() % 5 == 0 && !sets.empty()) sets[0].dims[0].second = 1 + static_cast<std::int64_t>(random() % 5);
    std::vector<rs::strided_set> checked = sets;
    const bool by_count = rs::tiles_by_count(rows * columns, checked);
    EXPECT_EQ(rs::tiles(rows * columns, sets), by_count) << round;
    good += by_count ? 1 : 0;
  }
  EXPECT_GT(good, 2000);
  EXPECT_TRUE(rs::tiles(0, {}));
  EXPECT_FALSE(rs::tiles(1, {}));
}
