// SPDX-License-Identifier: Apache-2.0
// Pieces of a tensor cut by slices of it: each element by itself.

#include "reshard/slice_cutter.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace rs = hp_tool::reshard;

namespace {

/// Places of the elements of a box, by their indexes.
std::map<std::vector<std::int64_t>, std::int64_t> places_of(const rs::placed_box& b) {
  std::map<std::vector<std::int64_t>, std::int64_t> all;
  std::vector<std::int64_t> index;
  for (const rs::index_range& r : b.box) index.push_back(r.begin);
  for (std::int64_t n = rs::volume_of(b.box); n > 0; --n) {
    std::int64_t at = b.offset;
    for (std::size_t d = 0; d < index.size(); ++d) at += (index[d] - b.box[d].begin) * b.stride[d];
    EXPECT_TRUE(all.emplace(index, at).second);
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < b.box[d].end) break;
      index[d] = b.box[d].begin;
    }
  }
  return all;
}

TEST(SliceCutter, EachElementLiesInTheSliceThatHasIt) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    const auto draw = [&](std::int64_t most) {
      return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
    };
    // Rows count groups, parts and channels; a piece has some parts of each group, all channels and columns.
    const std::int64_t groups = draw(4), parts = draw(4), channels = draw(4), columns = draw(3);
    const std::int64_t first = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(parts)),
                       count = draw(parts - first);
    const std::vector<std::int64_t> whole = {groups * parts * channels, columns};
    const std::vector<std::int64_t> strides = rs::gapped_strides(whole, "f", "t");
    rs::set_piece p{3, 4, {{groups, count, channels}, {columns}}, {}};
    p.place = {{{0, groups}, {0, count}, {0, channels}, {0, columns}},
               first * channels * strides[0],
               {parts * channels * strides[0], channels * strides[0], strides[0], 1}};
    const std::int64_t shards = draw(whole[0]);
    std::size_t seen = 0;
    for (std::int64_t shard = 0; shard < shards; ++shard) {
      const rs::index_box slice = {{whole[0] * shard / shards, whole[0] * (shard + 1) / shards}, {0, columns}};
      std::vector<rs::set_piece> cut;
      rs::joined_cut(slice, whole, "f", "t").append(cut, p);
      for (const rs::set_piece& one : cut) {
        EXPECT_EQ(one.file, 3);
        EXPECT_EQ(one.tensor, 4);
        for (const auto& [index, at] : places_of(one.place)) {
          const std::int64_t row = (index[0] * parts + first + index[1]) * channels + index[2];
          ASSERT_GE(row, slice[0].begin);
          ASSERT_LT(row, slice[0].end);
          ASSERT_EQ(at, (row - slice[0].begin) * columns + index[3]) << seed;
          ++seen;
        }
      }
    }
    ASSERT_EQ(seen, static_cast<std::size_t>(groups * count * channels * columns)) << seed;
  }
}

}  // namespace
