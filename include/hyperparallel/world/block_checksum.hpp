// SPDX-License-Identifier: Apache-2.0
#pragma once
// A checksum of 64 bits of runs of bytes, at the speed of memory, for blocks that are to stay what they are.
//
// Four sums take a word of 8 bytes each in turn, by steps that are one to one in the sum and in the word. Laws: blocks of equal runs that differ within one word, as by one flipped bit, never have the same checksum; others
// have it once in about 2^64. No value of the library's files: io/checksum.hpp is a code that others can compute. O(bytes).

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Bytes of a block: [begin, begin + bytes).
struct byte_run {
  std::int64_t begin = 0;
  std::int64_t bytes = 0;
};

/// One to one in the sum and in the word. A product leaves high bits where they are: shifts bring them down before and after.
constexpr std::uint64_t with_word(std::uint64_t sum, std::uint64_t word,
                                  std::uint64_t odd = std::uint64_t{0x9E3779B97F4A7C15u}) {
  const std::uint64_t x = sum ^ word, product = (x ^ x >> 32) * odd;
  return product ^ product >> 29;
}

/// The sum after so many bytes more.
inline std::uint64_t checksum_of(const std::byte* bytes, std::int64_t count, std::uint64_t sum) {
  const auto word_at = [&](std::int64_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, sizeof(word));
    return word;
  };
  std::int64_t at = 0;
  if (count >= 32) {
    std::uint64_t a = sum, b = 1, c = 2, d = 3;
    for (; count - at >= 32; at += 32) {
      a = with_word(a, word_at(at));
      b = with_word(b, word_at(at + 8), std::uint64_t{0xC2B2AE3D27D4EB4Fu});
      c = with_word(c, word_at(at + 16), std::uint64_t{0x165667B19E3779F9u});
      d = with_word(d, word_at(at + 24), std::uint64_t{0xD6E8FEB86659FD93u});
    }
    sum = with_word(with_word(with_word(a, b), c), d);
  }
  for (; count - at >= 8; at += 8) sum = with_word(sum, word_at(at));
  if (at == count) return sum;
  std::uint64_t last = 0;
  std::memcpy(&last, bytes + at, static_cast<std::size_t>(count - at));
  return with_word(sum, last);
}

inline std::uint64_t checksum_of(const std::byte* block, const std::vector<byte_run>& runs) {
  std::uint64_t sum = 0;
  for (const byte_run& r : runs) sum = checksum_of(block + r.begin, r.bytes, sum);
  return sum;
}

}}}  // namespace hyperparallel::v0_2::detail
