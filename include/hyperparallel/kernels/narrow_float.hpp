// SPDX-License-Identifier: Apache-2.0
#pragma once
// The 16-bit floats as numbers: to binary32, exactly, and back, rounded once.
//
// Laws: to_float is exact; rounding to nearest, ties to even, is the inverse of to_float on every number; a double or
// an integer is rounded once, not through a rounded binary32, because what lies between is rounded to odd (Boldo and
// Melquiond, IEEE Trans. Computers 57(4), 2008): an inexact number gets an odd last bit, which no later tie can mistake
// for a number that was exact.

#include <bit>
#include <concepts>
#include <cstdint>

#include <hyperparallel/kernels/element_type.hpp>
#include <hyperparallel/kernels/exact.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// `yes` where `condition` is 1, `no` where it is 0. Without a branch, which a compiler may not vectorise beside
/// arithmetic that could trap.
constexpr std::uint32_t choose(std::uint32_t condition, std::uint32_t yes, std::uint32_t no) {
  return no ^ ((yes ^ no) & (0u - condition));
}

constexpr float to_float(bf16_bits x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

constexpr float to_float(f16_bits x) {
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = x.bits & 0x7fffu;
  const std::uint32_t normal = (magnitude << 13) + detail::choose(magnitude >= 0x7c00u, 224u << 23, 112u << 23);
  // Below the normal numbers the value counts the last places of the numbers in [0.5, 1).
  const float subnormal = std::bit_cast<float>(0x3f000000u | (magnitude & 0x3ffu)) - 0.5F;
  return std::bit_cast<float>(sign |
                              detail::choose(magnitude < 0x0400u, std::bit_cast<std::uint32_t>(subnormal), normal));
}

/// Nearest, ties to even; a NaN stays a NaN.
constexpr bf16_bits to_bf16(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>(bits >> 16 | 0x40u)};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}

/// Nearest, ties to even; a NaN stays a NaN; from 65 520 on the result is infinite.
constexpr f16_bits to_f16(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // A carry out of the fraction raises the exponent by itself, up to infinity.
  const std::uint32_t normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  // Below 2^-14 the last place stands still at 2^-24, which is that of the numbers in [0.5, 1).
  const std::uint32_t is_small = magnitude < 0x38800000u;
  const float small = std::bit_cast<float>(detail::choose(is_small, magnitude, 0u)) + 0.5F;
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(small) - 0x3f000000u;
  const std::uint32_t nan = 0x7e00u | (magnitude >> 13 & 0x3ffu);
  const std::uint32_t large = detail::choose(magnitude > 0x7f800000u, nan, 0x7c00u);
  const std::uint32_t finite = detail::choose(is_small, subnormal, normal);
  return {static_cast<std::uint16_t>(sign | detail::choose(magnitude >= 0x47800000u, large, finite))};
}

/// x in binary32, rounded to odd.
constexpr float rounded_to_odd(double x) {
  const float near = static_cast<float>(x);
  if (static_cast<double>(near) == x || x != x) return near;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(near);
  const double magnitude = x < 0 ? -x : x;
  if (static_cast<double>(std::bit_cast<float>(bits & 0x7fffffffu)) > magnitude) --bits;  // towards zero
  return std::bit_cast<float>(bits | 1u);
}

/// i in binary64: exact below 2^52, rounded to odd on its leading bits (42 or more) above.
constexpr double rounded_to_odd(std::int64_t i) {
  const std::int64_t kept = i / 2048;
  if (kept > -(std::int64_t{1} << 41) && kept < std::int64_t{1} << 41) return static_cast<double>(i);
  const std::int64_t odd = i % 2048 == 0 ? 0 : 1;
  return static_cast<double>(i < 0 ? -(-kept | odd) : kept | odd) * 2048.0;
}

constexpr bf16_bits to_bf16(double x) { return to_bf16(detail::rounded_to_odd(x)); }
constexpr f16_bits to_f16(double x) { return to_f16(detail::rounded_to_odd(x)); }

template <std::integral Integer>
constexpr bf16_bits to_bf16(Integer i) {
  return to_bf16(detail::rounded_to_odd(static_cast<std::int64_t>(i)));
}
template <std::integral Integer>
constexpr f16_bits to_f16(Integer i) {
  return to_f16(detail::rounded_to_odd(static_cast<std::int64_t>(i)));
}

}}}  // namespace hyperparallel::v0_2::detail

HYPERPARALLEL_EXACT_END
