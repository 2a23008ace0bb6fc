// SPDX-License-Identifier: Apache-2.0
// The checksum is CRC-64/XZ, whatever the pieces, and notices every short change.

#include <hyperparallel/io/checksum.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <string>

namespace hp = hyperparallel;

namespace {

/// The definition: one bit at a time.
std::uint64_t bit_by_bit(const std::string& text) {
  std::uint64_t remainder = ~std::uint64_t{0};
  for (const char c : text) {
    remainder ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit)
      remainder = (remainder & 1u) != 0 ? (remainder >> 1) ^ 0xC96C5795D7870F42u : remainder >> 1;
  }
  return ~remainder;
}

std::string random_text(std::mt19937_64& random, std::size_t length) {
  std::string text(length, '\0');
  for (char& c : text) c = static_cast<char>(random() & 0xFFu);
  return text;
}

// The check value of the catalogue of parametrised CRC algorithms.
static_assert(hp::detail::checksum_of("123456789") == 0x995DC9BBDF1939FAu);
static_assert(hp::detail::checksum_of("") == 0);

TEST(checksum, equals_the_definition_at_every_length) {
  std::mt19937_64 random(1);
  for (std::size_t length = 0; length < 300; ++length) {
    const std::string text = random_text(random, length);
    EXPECT_EQ(hp::detail::checksum_of(text), bit_by_bit(text)) << length;
    EXPECT_EQ(hp::detail::checksum_of(std::as_bytes(std::span(text))), bit_by_bit(text)) << length;
  }
}

TEST(checksum, does_not_depend_on_the_pieces) {
  std::mt19937_64 random(2);
  const std::string text = random_text(random, 61);
  for (std::size_t first = 0; first <= text.size(); ++first)
    for (std::size_t second = first; second <= text.size(); ++second) {
      hp::checksum sum;
      sum.add(text.substr(0, first));
      sum.add(text.substr(first, second - first));
      sum.add(text.substr(second));
      ASSERT_EQ(sum.value(), hp::detail::checksum_of(text)) << first << " " << second;
    }
}

TEST(checksum, notices_every_change_of_one_byte) {
  std::mt19937_64 random(3);
  const std::string text = random_text(random, 67);
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::set<std::uint64_t> seen;
    for (int value = 0; value < 256; ++value) {
      std::string changed = text;
      changed[at] = static_cast<char>(value);
      seen.insert(hp::detail::checksum_of(changed));
    }
    EXPECT_EQ(seen.size(), 256u) << at;
  }
}

TEST(checksum, notices_every_burst_of_eight_bytes_and_every_lost_zero) {
  std::mt19937_64 random(4);
  const std::string text = random_text(random, 64);
  for (int trial = 0; trial < 20000; ++trial) {
    std::string changed = text;
    changed.replace(random() % 57, 8, random_text(random, 8));
    ASSERT_EQ(changed == text, hp::detail::checksum_of(changed) == hp::detail::checksum_of(text));
  }
  std::set<std::uint64_t> zeros;
  for (std::size_t length = 0; length < 200; ++length) zeros.insert(hp::detail::checksum_of(std::string(length, '\0')));
  EXPECT_EQ(zeros.size(), 200u);
}

TEST(checksum, is_printed_with_sixteen_digits) {
  EXPECT_EQ(hp::detail::checksum_text(0), "0000000000000000");
  EXPECT_EQ(hp::detail::checksum_text(0x0123456789ABCDEFu), "0123456789abcdef");
  EXPECT_EQ(hp::detail::checksum_text(~std::uint64_t{0}), "ffffffffffffffff");
}

}  // namespace
