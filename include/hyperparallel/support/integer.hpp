// SPDX-License-Identifier: Apache-2.0
#pragma once
// Integer mathematics of extents, shards and bytes. Counts are signed 64-bit: in a constant expression an overflow is
// then a compile error for free; at run time `checked_multiply` and `checked_add` say so instead of wrapping.

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

using extent_t = std::int64_t;

/// The amount in an account of what was refused: no limit of bytes or time is as large, so none is met by mistake.
inline constexpr extent_t not_counted = INT64_MAX;

/// ⌈a / b⌉ for a ≥ 0, b > 0.
constexpr extent_t ceil_divide(extent_t a, extent_t b) { return a / b + (a % b != 0 ? 1 : 0); }

constexpr extent_t smaller(extent_t a, extent_t b) { return b < a ? b : a; }
constexpr extent_t larger(extent_t a, extent_t b) { return a < b ? b : a; }

/// Euclid's algorithm; gcd(0, n) = n. Domain: both ≥ 0.
constexpr extent_t greatest_common_divisor(extent_t a, extent_t b) {
  while (b != 0) {
    const extent_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}

// The built-ins of g++ and clang are no constant expressions of EDG, which nvcc and nvc++ parse with.
#if defined(__CUDACC__) || defined(__NVCOMPILER) || defined(__EDG__)
#define HYPERPARALLEL_EDG 1
namespace detail {
__extension__ typedef __int128 wide_extent;
}

/// Sets `product` to a · b; whether that leaves 64 bits.
constexpr bool multiply_overflows(extent_t a, extent_t b, extent_t& product) {
  const detail::wide_extent exact = static_cast<detail::wide_extent>(a) * b;
  product = static_cast<extent_t>(exact);
  return exact != product;
}
/// Sets `sum` to a + b; whether that leaves 64 bits.
constexpr bool add_overflows(extent_t a, extent_t b, extent_t& sum) {
  const detail::wide_extent exact = static_cast<detail::wide_extent>(a) + b;
  sum = static_cast<extent_t>(exact);
  return exact != sum;
}
#else
/// Sets `product` to a · b; whether that leaves 64 bits.
constexpr bool multiply_overflows(extent_t a, extent_t b, extent_t& product) {
  return __builtin_mul_overflow(a, b, &product);
}
/// Sets `sum` to a + b; whether that leaves 64 bits.
constexpr bool add_overflows(extent_t a, extent_t b, extent_t& sum) { return __builtin_add_overflow(a, b, &sum); }
#endif

/// A value that may have left the range of 64 bits on the way.
struct checked_extent {
  extent_t value = 0;
  bool overflow = false;
};

/// a · b; on overflow `value` is 0 and `overflow` is set.
constexpr checked_extent checked_multiply(extent_t a, extent_t b) {
  extent_t product = 0;
  if (multiply_overflows(a, b, product)) return {0, true};
  return {product, false};
}

/// a + b; on overflow `value` is 0 and `overflow` is set.
constexpr checked_extent checked_add(extent_t a, extent_t b) {
  extent_t sum = 0;
  if (add_overflows(a, b, sum)) return {0, true};
  return {sum, false};
}

}}  // namespace hyperparallel::v0_2
