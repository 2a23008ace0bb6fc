// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element types of checkpoints, and numbers converted from one to another.
//
//   unit_of("BF16");                       {1, 2}: one element in two bytes
//   unit_of("F4");                         {2, 1}: two elements in one byte
//   convert_elements("F32", from, "BF16", to, count);
//
// The types and their bits are those of the table all_dtypes (io/tensor_entry.hpp). Converted are F64, F32, F16, BF16, F8_E4M3 and
// F8_E5M2; every other type is copied as it is.
//
// Laws: to a wider type and back is the identity, but for the payload of a NaN; to a narrower type rounds to nearest, ties to even.
// F16, BF16 and F8_E5M2 have infinities, to which what is too large goes; F8_E4M3 has none and takes its largest number, 448, so that
// no infinity becomes a NaN. O(elements).
// Precondition: the machine is little-endian, as the format is. References: IEEE 754-2019; Micikevicius et al., "FP8 formats for deep learning", 2022.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "library.hpp"

namespace hp_tool::reshard {

/// The fewest elements that fill whole bytes, and these bytes.
struct element_unit {
  std::int64_t elements = 1;
  std::int64_t bytes = 1;
  friend constexpr bool operator==(const element_unit&, const element_unit&) = default;
};

/// Domain: a type of the table.
constexpr element_unit unit_of(std::string_view dtype) {
  const int bits = hp::detail::dtype_bits(dtype);
  if (bits == 4) return {2, 1};
  if (bits == 6) return {4, 3};
  return {1, bits / 8};
}

/// A binary float: sign, exponent, fraction. The largest exponent is that of infinities, but in E4M3.
struct float_format {
  std::string_view dtype;
  int exponent_bits, fraction_bits;
  bool has_infinity;
};

/// Null where a type is no float.
const float_format* find_float(std::string_view dtype);

/// The largest finite number of a float.
double largest_of(const float_format& f);

/// 2^e. Domain: -1022 to 1023.
double power_of_two(int e);

/// The number of a pattern of bits.
double decoded(const float_format& f, std::uint64_t bits);

/// The pattern of the number that is nearest.
std::uint64_t encoded(const float_format& f, double value);

/// Converts `count` numbers, each multiplied by `factor` before it is rounded. Preconditions: the types are floats; the memories do not overlap.
void convert_elements(std::string_view from, const std::byte* source, std::string_view to, std::byte* target,
                      std::size_t count, double factor = 1.0);

}  // namespace hp_tool::reshard
