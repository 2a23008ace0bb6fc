// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products and sums of amounts that may leave 64 bits: `not_counted` then.
//
//   hp::counted_sum(hp::counted_product(layers, bytes), more)
//   hp::bytes_of_bits(7, 4)      4
//
// Domain: amounts are at least 0. Laws: what is counted is exact; `not_counted` stays so, but times 0. O(amounts).

#include <hyperparallel/planner/decoder_plan.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// a · b and a + b of amounts; `not_counted` beyond 64 bits.
constexpr extent_t counted_product(extent_t a, extent_t b) {
  const checked_extent r = checked_multiply(a, b);
  return r.overflow || ((a == not_counted || b == not_counted) && a != 0 && b != 0) ? not_counted : r.value;
}
template <class... Amount>
constexpr extent_t counted_product(extent_t a, extent_t b, Amount... more) {
  return counted_product(counted_product(a, b), more...);
}
constexpr extent_t counted_sum(extent_t a, extent_t b) {
  const checked_extent r = checked_add(a, b);
  return r.overflow ? not_counted : r.value;
}
template <class... Amount>
constexpr extent_t counted_sum(extent_t a, extent_t b, Amount... more) {
  return counted_sum(counted_sum(a, b), more...);
}

/// Bytes of so many elements of `bits` each.
constexpr extent_t bytes_of_bits(extent_t elements, int bits) {
  const extent_t all = counted_product(elements, bits);
  return all == not_counted ? not_counted : ceil_divide(all, 8);
}

}}  // namespace hyperparallel::v0_2
