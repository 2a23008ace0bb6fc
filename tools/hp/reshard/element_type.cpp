// SPDX-License-Identifier: Apache-2.0
// The body of element_type.hpp.

#include "element_type.hpp"

#include <bit>
#include <cstring>
#include <limits>

namespace hp_tool::reshard {

static_assert(std::endian::native == std::endian::little);

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr float_format float_formats[] = {{"F64", 11, 52, true}, {"F32", 8, 23, true},     {"F16", 5, 10, true},
                                          {"BF16", 8, 7, true},  {"F8_E4M3", 4, 3, false}, {"F8_E5M2", 5, 2, true}};

void f32_to_bf16(const std::byte* from, std::byte* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, from + 4 * i, 4);
    const bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
    const std::uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
    const auto narrow = static_cast<std::uint16_t>(nan ? (bits >> 16 & 0x8000u) | 0x7FC0u : rounded);
    std::memcpy(to + 2 * i, &narrow, 2);
  }
}

void bf16_to_f32(const std::byte* from, std::byte* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t narrow;
    std::memcpy(&narrow, from + 2 * i, 2);
    const bool nan = (narrow & 0x7FFFu) > 0x7F80u;
    const std::uint32_t bits =
        nan ? (std::uint32_t{narrow} << 16 & 0x80000000u) | 0x7FC00000u : std::uint32_t{narrow} << 16;
    std::memcpy(to + 4 * i, &bits, 4);
  }
}

}  // namespace

const float_format* find_float(std::string_view dtype) {
  for (const float_format& f : float_formats)
    if (f.dtype == dtype) return &f;
  return nullptr;
}

double largest_of(const float_format& f) {
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const int exponent = f.has_infinity ? bias : bias + 1;
  double fraction = 2.0, unit = 1.0;
  for (int i = 0; i < f.fraction_bits; ++i) unit /= 2;
  fraction -= f.has_infinity ? unit : 2 * unit;  // E4M3 gives its last pattern to NaN
  double scale = 1.0;
  for (int i = 0; i < exponent; ++i) scale *= 2;
  return fraction * scale;
}

double power_of_two(int e) { return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52); }

double decoded(const float_format& f, std::uint64_t bits) {
  if (f.exponent_bits == 11) return std::bit_cast<double>(bits);
  const int exponents = (1 << f.exponent_bits) - 1, bias = exponents / 2;
  const std::uint64_t all = (std::uint64_t{1} << f.fraction_bits) - 1, fraction = bits & all;
  const int exponent = static_cast<int>(bits >> f.fraction_bits) & exponents;
  const bool negative = ((bits >> (f.fraction_bits + f.exponent_bits)) & 1u) != 0;
  double value;
  if (exponent == exponents && (f.has_infinity || fraction == all))
    value = f.has_infinity && fraction == 0 ? std::numeric_limits<double>::infinity()
                                            : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    value = static_cast<double>(fraction) * power_of_two(1 - bias - f.fraction_bits);
  else
    value = std::bit_cast<double>(static_cast<std::uint64_t>(exponent - bias + 1023) << 52 |
                                  fraction << (52 - f.fraction_bits));
  return negative ? -value : value;
}

std::uint64_t encoded(const float_format& f, double value) {
  std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  if (f.exponent_bits == 11) return bits;
  const int exponents = (1 << f.exponent_bits) - 1, bias = exponents / 2, dropped = 52 - f.fraction_bits;
  const std::uint64_t all = (std::uint64_t{1} << f.fraction_bits) - 1;
  const std::uint64_t top = static_cast<std::uint64_t>(exponents) << f.fraction_bits;
  const std::uint64_t too_large = f.has_infinity ? top : top | (all - 1);
  const std::uint64_t sign = bits >> 63 << (f.fraction_bits + f.exponent_bits);
  bits &= ~std::uint64_t{0} >> 1;
  if (bits > std::uint64_t{0x7FF} << 52)
    return sign | top | (f.has_infinity ? std::uint64_t{1} << (f.fraction_bits - 1) : all);
  std::uint64_t pattern;
  if (bits >> 52 >= static_cast<std::uint64_t>(1024 - bias)) {  // a carry out of the fraction raises the exponent
    pattern = (bits + ((std::uint64_t{1} << (dropped - 1)) - 1) + (bits >> dropped & 1u)) >> dropped;
    pattern -= static_cast<std::uint64_t>(1023 - bias) << f.fraction_bits;
  } else {  // below the normal numbers: steps of one size, rounded where 2^52 is added
    const double steps = std::bit_cast<double>(bits) * power_of_two(bias - 1 + f.fraction_bits);
    pattern = std::bit_cast<std::uint64_t>(steps + 0x1p52) - std::bit_cast<std::uint64_t>(0x1p52);
  }
  return sign | (pattern > too_large ? too_large : pattern);
}

void convert_elements(std::string_view from, const std::byte* source, std::string_view to, std::byte* target,
                      std::size_t count, double factor) {
  if (factor == 1.0 && from == "F32" && to == "BF16") return f32_to_bf16(source, target, count);
  if (factor == 1.0 && from == "BF16" && to == "F32") return bf16_to_f32(source, target, count);
  const float_format f = *find_float(from), t = *find_float(to);
  const auto from_bytes = static_cast<std::size_t>(unit_of(from).bytes),
             to_bytes = static_cast<std::size_t>(unit_of(to).bytes);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, source + i * from_bytes, from_bytes);
    const double value = from_bytes == 4 ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                                         : decoded(f, bits);
    bits = encoded(t, factor == 1.0 ? value : value * factor);
    std::memcpy(target + i * to_bytes, &bits, to_bytes);
  }
}

}  // namespace hp_tool::reshard
