// SPDX-License-Identifier: Apache-2.0
#pragma once
// A checksum of 64 bits of runs of bytes, at the speed of memory, for blocks that are to stay what they are.
//
// Four sums take 16 bytes each in turn: the halves of the product of one word and the sum, and the other word and a constant,
// joined with both factors, so that a factor of zero does not hide the other. Laws: of equal bytes it is equal; blocks of equal runs that differ have the same one once in about 2^64, by chance,
// wherever they differ. It is no value of files: io/checksum.hpp has a code that others can compute. O(bytes).
// Reference: Wang Yi, wyhash (https://github.com/wangyi-fudan/wyhash, public domain), whose hardened step this is.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hyperparallel/exec/light_vector.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Bytes of a block: [begin, begin + bytes).
struct byte_run {
  std::int64_t begin = 0;
  std::int64_t bytes = 0;
};

inline std::uint64_t joined_product(std::uint64_t a, std::uint64_t b) {
  __extension__ using wide = unsigned __int128;
  const wide product = static_cast<wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64) ^ a ^ b;
}

/// The sum after so many bytes more.
inline std::uint64_t block_checksum(const std::byte* bytes, std::int64_t count, std::uint64_t sum) {
  constexpr std::uint64_t odd[] = {0xA0761D6478BD642Fu, 0xE7037ED1A0B428DBu, 0x8EBC6AF09C88C6E3u, 0x589965CC75374CC3u};
  const auto word_at = [&](std::int64_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, sizeof(word));
    return word;
  };
  std::int64_t at = 0;
  if (count >= 64) {
    std::uint64_t a = sum ^ odd[1], b = sum ^ odd[2], c = sum ^ odd[3], d = sum ^ odd[0];
    for (; count - at >= 64; at += 64) {
      a = joined_product(word_at(at) ^ odd[0], word_at(at + 8) ^ a);
      b = joined_product(word_at(at + 16) ^ odd[1], word_at(at + 24) ^ b);
      c = joined_product(word_at(at + 32) ^ odd[2], word_at(at + 40) ^ c);
      d = joined_product(word_at(at + 48) ^ odd[3], word_at(at + 56) ^ d);
    }
    sum = joined_product(a ^ odd[0], b ^ odd[1]) ^ std::rotl(joined_product(c ^ odd[2], d ^ odd[3]), 32);
  }
  for (; count - at >= 8; at += 8) sum = joined_product(word_at(at) ^ odd[1], sum ^ odd[0]);
  if (at == count) return sum;
  std::uint64_t last = 0;
  std::memcpy(&last, bytes + at, static_cast<std::size_t>(count - at));
  return joined_product(last ^ odd[2], sum ^ odd[0]);
}

inline std::uint64_t block_checksum(const std::byte* block, const detail::light_vector<byte_run>& runs) {
  std::uint64_t sum = 0;
  for (const byte_run& r : runs) sum = block_checksum(block + r.begin, r.bytes, sum);
  return sum;
}

}}}  // namespace hyperparallel::v0_2::detail
