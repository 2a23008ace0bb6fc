// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/huge_pages.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace {

namespace hp = hyperparallel;

TEST(HugePages, ContentsDoNotChange) {
  std::vector<std::byte> block(3 * static_cast<std::size_t>(hp::detail::huge_page_bytes) + 12345);
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>(i * 7 >> 3);
  const std::int64_t agreed = hp::prefer_huge_pages(block.data() + 1, static_cast<std::int64_t>(block.size()) - 1);
  EXPECT_EQ(agreed % hp::detail::huge_page_bytes, 0);
  EXPECT_LE(agreed, 3 * hp::detail::huge_page_bytes);
  for (std::size_t i = 0; i < block.size(); ++i) ASSERT_EQ(block[i], static_cast<std::byte>(i * 7 >> 3));
}

TEST(HugePages, ABlockWithoutAWholePageIsLeftAlone) {
  std::vector<std::byte> block(static_cast<std::size_t>(hp::detail::huge_page_bytes) - 1);
  EXPECT_EQ(hp::prefer_huge_pages(block.data(), static_cast<std::int64_t>(block.size())), 0);
  EXPECT_EQ(hp::prefer_huge_pages(block.data(), 0), 0);
}

}  // namespace
