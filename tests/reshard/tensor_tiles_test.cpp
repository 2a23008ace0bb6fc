// SPDX-License-Identifier: Apache-2.0
// Tiles follow each other and are the tensor.

#include "reshard/tensor_tiles.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace rs = hp_tool::reshard;

TEST(TensorTiles, FollowEachOther) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::int64_t> dims;
    std::int64_t volume = 1;
    for (std::size_t d = random() % 4; d > 0; --d)
      volume *= dims.emplace_back(static_cast<std::int64_t>(random() % 12 == 0 ? 0 : 1 + random() % 6));
    const std::int64_t most = 1 + static_cast<std::int64_t>(random() % 60);
    const rs::tensor_tiles tiles(dims, most);
    std::int64_t at = 0;
    for (std::int64_t t = 0; t < tiles.count(); ++t) {
      const rs::index_box b = tiles.box(t);
      EXPECT_EQ(tiles.first_unit(b), at);
      EXPECT_LE(rs::volume_of(b), most);
      at += rs::volume_of(b);
    }
    EXPECT_EQ(at, volume);
  }
}
