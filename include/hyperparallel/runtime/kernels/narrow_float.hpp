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

#include <hyperparallel/runtime/element_type.hpp>

namespace hyperparallel {

constexpr float to_float(bf16_bits x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

constexpr float to_float(f16_bits x) {
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = x.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | magnitude << 13);
  // Below the normal numbers the value is a multiple of 2^-24, which binary32 holds exactly.
  if (magnitude < 0x0400u) {
    const float value = static_cast<float>(magnitude) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
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
  const auto made = [sign](std::uint32_t rest) { return f16_bits{static_cast<std::uint16_t>(sign | rest)}; };
  if (magnitude > 0x7f800000u) return made(0x7e00u | (magnitude >> 13 & 0x3ffu));
  if (magnitude >= 0x47800000u) return made(0x7c00u);  // 2^16
  if (magnitude < 0x33000000u) return made(0);         // 2^-25
  std::uint32_t kept = (magnitude & 0x7fffffu) | 0x800000u;
  const std::uint32_t exponent = magnitude >> 23;
  // Below 2^-14 (exponent 113) the last place stands still, so more bits are dropped.
  const std::uint32_t dropped = exponent >= 113u ? 13u : 126u - exponent;
  const std::uint32_t half = (1u << (dropped - 1)) - 1u;
  kept = (kept + half + (kept >> dropped & 1u)) >> dropped;
  // A carry out of the fraction raises the exponent by itself, up to infinity.
  return made(exponent >= 113u ? kept + ((exponent - 113u) << 10) : kept);
}

namespace detail {

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

}  // namespace detail

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

}  // namespace hyperparallel
