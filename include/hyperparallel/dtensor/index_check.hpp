// SPDX-License-Identifier: Apache-2.0
#pragma once
// Indices of operators on dtensors count in a whole dim: one that is none of its elements is refused, with its value and
// where it stands in the whole tensor of indices.
//
// Kernels read 0 where an index is not of their own window, so without this check a wrong index is a row of zeros.
// O(indices) on each rank.

#include <concepts>
#include <string>

#include <hyperparallel/dtensor/dynamic_dtensor.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Throws dtensor_error; `element` is of the block, row-major.
[[noreturn]] inline void refuse_index(const const_local_block& block, extent_t element, extent_t index,
                                      extent_t limit) {
  std::string at;
  for (int d = block.whole.rank - 1; d >= 0; --d) {
    const interval span = block.place.dim[d];
    const extent_t extent = span.end - span.begin;
    at.insert(0, std::to_string(span.begin + element % extent) + (at.empty() ? "" : ", "));
    element /= extent;
  }
  throw dtensor_error("index " + std::to_string(index) + " at [" + at + "], expected 0 to " +
                      std::to_string(limit - 1));
}

/// Element i of the block is in [0, limit[i mod limits]), or it is `*also`. Throws dtensor_error.
template <std::integral I>
void check_indices(const const_local_block& block, const extent_t* limit, extent_t limits,
                   const extent_t* also = nullptr) {
  const const_view<I> index = block.view<I>();
  const extent_t n = volume(index);
  for (extent_t i = 0; i < n; ++i) {
    const extent_t at = static_cast<extent_t>(index.data[i]);
    if ((at < 0 || at >= limit[i % limits]) && (also == nullptr || at != *also))
      detail::refuse_index(block, i, at, limit[i % limits]);
  }
}

/// The same where every index is of one dim of another operand.
template <std::integral I>
void check_indices(const const_local_block& block, const const_local_block& of, int dim) {
  check_indices<I>(block, &of.whole.extent[dim], 1);
}

}}}  // namespace hyperparallel::v0_2::detail
