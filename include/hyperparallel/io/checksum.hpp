// SPDX-License-Identifier: Apache-2.0
#pragma once
// A 64-bit checksum of bytes, by which damage is noticed: the cyclic redundancy check CRC-64/XZ (the polynomial of
// ECMA-182, reflected, all ones before and after), so that other tools compute the same number.
//
// Laws: the value depends on the bytes and their order only, not on how they were cut into pieces; any change within 64
// consecutive bits changes it, hence every change of one byte. Another change goes unnoticed with probability 2^-64. It
// is no protection against intent. O(bytes), eight bytes a step by eight tables of 2 KiB.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// tables[0][b] is the remainder of the byte b, tables[k][b] that of b followed by k zero bytes.
using checksum_tables = std::array<std::array<std::uint64_t, 256>, 8>;

constexpr checksum_tables make_checksum_tables() {
  constexpr std::uint64_t reflected_polynomial = 0xC96C5795D7870F42u;
  checksum_tables tables{};
  for (std::size_t b = 0; b < 256; ++b) {
    std::uint64_t remainder = b;
    for (int bit = 0; bit < 8; ++bit)
      remainder = (remainder >> 1) ^ ((remainder & 1u) != 0 ? reflected_polynomial : std::uint64_t{0});
    tables[0][b] = remainder;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t b = 0; b < 256; ++b) tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xFFu];
  return tables;
}

inline constexpr checksum_tables checksum_table = make_checksum_tables();

}  // namespace detail

/// The checksum of the bytes added so far.
class checksum {
 public:
  /// Appends bytes, in any pieces. `Byte` is a type of one byte: char, unsigned char or std::byte.
  template <class Byte>
    requires(sizeof(Byte) == 1)
  constexpr void add(const Byte* bytes, std::size_t count) {
    const detail::checksum_tables& table = detail::checksum_table;
    std::uint64_t remainder = remainder_;
    for (; count >= 8; bytes += 8, count -= 8) {
      std::uint64_t word = 0;
      for (int i = 0; i < 8; ++i) word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
      word ^= remainder;
      remainder = 0;
      for (std::size_t i = 0; i < 8; ++i) remainder ^= table[7 - i][(word >> (8 * i)) & 0xFFu];
    }
    for (; count > 0; ++bytes, --count)
      remainder = (remainder >> 8) ^ table[0][(remainder ^ static_cast<unsigned char>(*bytes)) & 0xFFu];
    remainder_ = remainder;
  }
  constexpr void add(std::string_view text) { add(text.data(), text.size()); }
  constexpr void add(std::span<const std::byte> bytes) { add(bytes.data(), bytes.size()); }

  constexpr std::uint64_t value() const { return ~remainder_; }

 private:
  std::uint64_t remainder_ = ~std::uint64_t{0};
};

namespace detail {

constexpr std::uint64_t checksum_of(std::string_view text) {
  checksum sum;
  sum.add(text);
  return sum.value();
}
constexpr std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  checksum sum;
  sum.add(bytes);
  return sum.value();
}

/// Sixteen lower-case hexadecimal digits, most significant first.
std::string checksum_text(std::uint64_t value);

}  // namespace detail

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/io/checksum.ipp>
#endif
