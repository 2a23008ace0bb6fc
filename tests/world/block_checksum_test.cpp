// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/block_checksum.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <vector>

namespace hp = hyperparallel;

namespace {

std::vector<std::byte> random_bytes(std::size_t n, std::mt19937& random) {
  std::vector<std::byte> b(n);
  for (std::byte& x : b) x = static_cast<std::byte>(random() & 0xFFu);
  return b;
}

std::uint64_t sum_of(const std::vector<std::byte>& b) {
  return hp::detail::block_checksum(b.data(), static_cast<std::int64_t>(b.size()), 0);
}

/// How many values the sums of a block and of all blocks that differ from it in one bit have.
std::size_t sums_around(std::vector<std::byte> b) {
  std::set<std::uint64_t> sums{sum_of(b)};
  for (std::size_t bit = 0; bit < 8 * b.size(); ++bit) {
    b[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    sums.insert(sum_of(b));
    b[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  }
  return sums.size();
}

// Of random bytes, of zeros, as fresh moments and gradients are, and of ones.
TEST(BlockChecksum, NoFlippedBitIsMissed) {
  std::mt19937 random(1);
  for (std::size_t n = 1; n < 150; ++n) {
    ASSERT_EQ(sums_around(random_bytes(n, random)), 8 * n + 1) << n << " bytes";
    ASSERT_EQ(sums_around(std::vector<std::byte>(n, std::byte{0})), 8 * n + 1) << n << " zeros";
    ASSERT_EQ(sums_around(std::vector<std::byte>(n, std::byte{0xff})), 8 * n + 1) << n << " ones";
  }
}

// Equal changes of neighbours, of words a round apart, and of their order.
TEST(BlockChecksum, ChangesOfTwoWordsDoNotCancel) {
  std::mt19937 random(2);
  const std::vector<std::byte> b = random_bytes(160, random);
  std::set<std::uint64_t> sums{sum_of(b)};
  std::size_t changes = 1;
  for (std::size_t i = 0; i < 20; ++i)
    for (std::size_t k = i + 1; k < 20; ++k)
      for (std::size_t bit = 0; bit < 64; ++bit, ++changes) {
        std::vector<std::byte> c = b;
        for (const std::size_t word : {i, k}) c[8 * word + bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        sums.insert(sum_of(c));
      }
  EXPECT_EQ(sums.size(), changes);
}

TEST(BlockChecksum, OnlyTheBytesOfTheRunsCount) {
  std::mt19937 random(3);
  std::vector<std::byte> b = random_bytes(100, random);
  const hp::detail::light_vector<hp::detail::byte_run> runs{{0, 10}, {20, 40}, {99, 1}};
  const std::uint64_t sum = hp::detail::block_checksum(b.data(), runs);
  for (std::size_t i = 0; i < b.size(); ++i) {
    b[i] ^= std::byte{4};
    const bool counts = i < 10 || (i >= 20 && i < 60) || i == 99;
    EXPECT_EQ(hp::detail::block_checksum(b.data(), runs) != sum, counts) << i;
    b[i] ^= std::byte{4};
  }
}

}  // namespace
