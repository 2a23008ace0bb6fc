// SPDX-License-Identifier: Apache-2.0
// The body of piecewise_checksum.hpp.

#include "piecewise_checksum.hpp"

#include <array>
#include <cstring>

#include <hyperparallel/io/checksum.hpp>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define HYPERPARALLEL_FOLDED_CHECKSUM 1
#include <immintrin.h>
#endif

namespace hp_tool::reshard {

namespace {

/// Of polynomials modulo that of the checksum; the highest bit of a word is the coefficient of x^0.
constexpr std::uint64_t times_x(std::uint64_t a) {
  return (a >> 1) ^ ((a & 1u) != 0 ? std::uint64_t{0xC96C5795D7870F42u} : std::uint64_t{0});
}

constexpr std::uint64_t product_of(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  for (int i = 63; i >= 0; --i) {
    if ((a >> i & 1u) != 0) sum ^= b;
    b = times_x(b);
  }
  return sum;
}

constexpr std::uint64_t polynomial_one = std::uint64_t{1} << 63;

constexpr std::uint64_t power_of_x(std::uint64_t exponent) {
  std::uint64_t power = polynomial_one;
  for (; exponent > 0; --exponent) power = times_x(power);
  return power;
}

/// x^(8 · 2^k) for each k.
constexpr std::array<std::uint64_t, 63> make_byte_powers() {
  std::array<std::uint64_t, 63> powers{};
  powers[0] = power_of_x(8);
  for (std::size_t k = 1; k < powers.size(); ++k) powers[k] = product_of(powers[k - 1], powers[k - 1]);
  return powers;
}

constexpr std::array<std::uint64_t, 63> byte_powers = make_byte_powers();

/// `remainder` with so many zero bytes behind it.
constexpr std::uint64_t shifted(std::uint64_t remainder, std::uint64_t bytes) {
  for (std::size_t k = 0; bytes > 0; ++k, bytes >>= 1)
    if ((bytes & 1u) != 0) remainder = product_of(remainder, byte_powers[k]);
  return remainder;
}

/// The remainder of bytes behind another remainder, without the ones before and after.
std::uint64_t plain_remainder(std::uint64_t remainder, const std::byte* bytes, std::size_t count) {
  const hp::detail::checksum_tables& table = hp::detail::checksum_table;
  for (; count >= 8; bytes += 8, count -= 8) {
    std::uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word |= std::uint64_t{std::to_integer<unsigned char>(bytes[i])} << (8 * i);
    word ^= remainder;
    remainder = 0;
    for (std::size_t i = 0; i < 8; ++i) remainder ^= table[7 - i][(word >> (8 * i)) & 0xFFu];
  }
  for (; count > 0; ++bytes, --count)
    remainder = (remainder >> 8) ^ table[0][(remainder ^ std::to_integer<unsigned char>(*bytes)) & 0xFFu];
  return remainder;
}

#ifdef HYPERPARALLEL_FOLDED_CHECKSUM
/// The product of two reflected words has its lowest coefficient one place too high, so the powers are one less.
constexpr std::uint64_t far_low = power_of_x(512 + 64 - 1), far_high = power_of_x(512 - 1);

constexpr std::uint64_t near_low = power_of_x(128 + 64 - 1), near_high = power_of_x(128 - 1);

__attribute__((target("pclmul,sse4.1"))) __m128i folded(__m128i sum, __m128i powers, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(sum, powers, 0x00), high = _mm_clmulepi64_si128(sum, powers, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/// Domain: count ≥ 64.
__attribute__((target("pclmul,sse4.1"))) std::uint64_t folded_remainder(std::uint64_t remainder, const std::byte* bytes,
                                                                        std::size_t count) {
  const auto load = [&](std::size_t at) __attribute__((target("pclmul,sse4.1"))) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + at));
  };
  const __m128i far = _mm_set_epi64x(static_cast<long long>(far_high), static_cast<long long>(far_low));
  const __m128i near = _mm_set_epi64x(static_cast<long long>(near_high), static_cast<long long>(near_low));
  __m128i a = _mm_xor_si128(load(0), _mm_set_epi64x(0, static_cast<long long>(remainder)));
  __m128i b = load(16), c = load(32), d = load(48);
  for (bytes += 64, count -= 64; count >= 64; bytes += 64, count -= 64) {
    a = folded(a, far, load(0));
    b = folded(b, far, load(16));
    c = folded(c, far, load(32));
    d = folded(d, far, load(48));
  }
  b = folded(a, near, b);
  c = folded(b, near, c);
  d = folded(c, near, d);
  for (; count >= 16; bytes += 16, count -= 16) d = folded(d, near, load(0));
  std::array<std::byte, 16> last;
  std::memcpy(last.data(), &d, 16);
  return plain_remainder(plain_remainder(0, last.data(), last.size()), bytes, count);
}

bool folds() {
  static const bool can = __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
  return can;
}

#endif
std::uint64_t remainder_of(std::uint64_t before, const std::byte* bytes, std::size_t count) {
#ifdef HYPERPARALLEL_FOLDED_CHECKSUM
  if (count >= 64 && folds()) return folded_remainder(before, bytes, count);
#endif
  return plain_remainder(before, bytes, count);
}

}  // namespace

void piecewise_checksum::add(std::int64_t begin, std::span<const std::byte> piece) {
  const auto behind = static_cast<std::uint64_t>(bytes_ - begin) - piece.size();
  sum_ ^= shifted(remainder_of(0, piece.data(), piece.size()), behind);
}

std::uint64_t piecewise_checksum::value() const {
  return ~(sum_ ^ shifted(~std::uint64_t{0}, static_cast<std::uint64_t>(bytes_)));
}

bool set_checksums::combine(std::int64_t file, std::int64_t tensor, std::uint64_t part) {
  if (file < 0 || file >= static_cast<std::int64_t>(sums_.size())) return false;
  std::vector<piecewise_checksum>& of_file = sums_[static_cast<std::size_t>(file)];
  if (tensor < 0 || tensor >= static_cast<std::int64_t>(of_file.size())) return false;
  of_file[static_cast<std::size_t>(tensor)].combine(part);
  return true;
}

}  // namespace hp_tool::reshard
