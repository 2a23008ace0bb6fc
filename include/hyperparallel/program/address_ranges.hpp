// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finding an address among ranges that have a begin and an end, are disjoint and lie by rising begin.

#include <hyperparallel/support/growing_array.hpp>
#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The first range that ends behind `address`; their number where none does. O(log ranges).
template <class Range>
constexpr int first_behind(const growing_array<Range>& ranges, extent_t address) {
  int low = 0, high = ranges.size;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (ranges.item[middle].end > address)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

}}  // namespace hyperparallel::v0_2
