// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements as unsigned numbers of the same order, whose bits can be found one by one, and sorted rows of them.
//
// Law: sort_key(a) < sort_key(b) iff kernels::sort puts a before b, and equal iff it keeps their order.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <hyperparallel/kernels/tensor_view.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace distributed { namespace detail {

/// A number that orders as x does in kernels::sort: both zeros are one, all NaN are one and the largest.
template <class X>
std::uint64_t sort_key(const X& x) {
  const auto value = kernels::load(x);
  using C = decltype(value);
  if constexpr (std::is_floating_point_v<C>) {
    using bits_type = std::conditional_t<sizeof(C) == 4, std::uint32_t, std::uint64_t>;
    constexpr bits_type sign = bits_type{1} << (8 * sizeof(C) - 1);
    if (value != value) return static_cast<bits_type>(~bits_type{0});
    const bits_type bits = std::bit_cast<bits_type>(value == C(0) ? C(0) : C(value));
    return static_cast<bits_type>((bits & sign) != 0 ? ~bits : bits | sign);
  } else if constexpr (std::is_same_v<std::remove_const_t<C>, bool>) {
    return value ? 1 : 0;
  } else {
    using bits_type = std::make_unsigned_t<std::remove_const_t<C>>;
    return static_cast<bits_type>(static_cast<bits_type>(value) ^ (bits_type{1} << (8 * sizeof(C) - 1)));
  }
}

/// Bits that `sort_key` of X uses.
template <class X>
constexpr int sort_key_bits = 8 * static_cast<int>(sizeof(kernels::computing<X>));

/// Rows of one block, each sorted: keys, and where in the block each was.
struct sorted_rows {
  extent_t length = 0;
  std::vector<std::uint64_t> key;
  std::vector<std::int32_t> place;

  const std::uint64_t* row(extent_t r) const { return key.data() + r * length; }
  extent_t below(extent_t r, std::uint64_t k) const { return std::lower_bound(row(r), row(r) + length, k) - row(r); }
  extent_t up_to(extent_t r, std::uint64_t k) const { return std::upper_bound(row(r), row(r) + length, k) - row(r); }
};

}}}}  // namespace hyperparallel::v0_2::distributed::detail
