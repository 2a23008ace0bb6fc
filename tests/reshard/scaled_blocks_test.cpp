// SPDX-License-Identifier: Apache-2.0
// Scales of blocks, whatever pieces the numbers come in.

#include "reshard/scaled_blocks.hpp"

#include "reshard/element_type.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

namespace rs = hp_tool::reshard;

TEST(ScaledBlocks, AreThoseOfTheLargestNumber) {
  constexpr std::int64_t rows = 5, columns = 7, block = 3;
  std::vector<float> numbers(rows * columns);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 2 == 0 ? i : 0) * -0.5f;
  const auto* const bytes = reinterpret_cast<const std::byte*>(numbers.data());
  for (std::int64_t piece = 1; piece < rows * columns; piece += 3) {
    rs::scaled_blocks b(rows, columns, {block, block});
    for (std::int64_t at = 0; at < rows * columns; at += piece)
      b.see("F32", bytes + 4 * at, at, std::min(piece, rows * columns - at), "t");
    b.finish("F8_E4M3");
    EXPECT_EQ(rs::scaled_blocks::extents(rows, columns, {block, block}), (std::vector<std::int64_t>{2, 3}));
    ASSERT_EQ(b.scales().size(), 6u);
    EXPECT_EQ(b.scales()[0], 8.0f / 448.0f);   // 16, the largest even number of the first block
    EXPECT_EQ(b.scales()[5], 17.0f / 448.0f);  // 34
    std::vector<std::byte> narrow(numbers.size());
    b.convert("F32", bytes, "F8_E4M3", narrow.data(), 0, rows * columns);
    EXPECT_EQ(rs::decoded(*rs::find_float("F8_E4M3"), std::to_integer<std::uint64_t>(narrow[34])), -448.0);
  }
}

TEST(ScaledBlocks, ZerosHaveScaleOneAndInfinitiesNone) {
  const std::vector<float> zeros(4, 0.0f);
  rs::scaled_blocks b(2, 2, {});
  b.see("F32", reinterpret_cast<const std::byte*>(zeros.data()), 0, 4, "t");
  b.finish("F8_E5M2");
  EXPECT_EQ(b.scales()[0], 1.0f);
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_THROW(b.see("F32", reinterpret_cast<const std::byte*>(&infinite), 0, 1, "t"), rs::plan_error);
}
