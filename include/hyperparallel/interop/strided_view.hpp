// SPDX-License-Identifier: Apache-2.0
#pragma once
// A view of elements that lie apart: what other libraries hand over where a block is not row-major without gaps.
//
//   view(i, j)                one element
//   tensor_of(view)           the tensor_view that kernels take, where nothing lies between the elements
//   strided_of(tensor_view)   the other way
//
// Law: strided_of and tensor_of are inverse where the latter accepts. Steps count elements.

#include <concepts>
#include <string>

#include <hyperparallel/interop/dlpack.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>
#include <hyperparallel/report/format_shape.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace interop {

template <class T>
struct strided_view {
  T* data = nullptr;
  shape extents{};
  kernels::steps steps{};

  /// Domain: one index a dim, each within its extent.
  template <std::convertible_to<extent_t>... Index>
  constexpr T& operator()(Index... index) const {
    const extent_t at[sizeof...(Index) + 1] = {static_cast<extent_t>(index)..., 0};
    extent_t offset = 0;
    for (int d = 0; d < extents.rank; ++d) offset += at[d] * steps.along[d];
    return data[offset];
  }
};

template <class T>
constexpr strided_view<T> strided_of(const tensor_view<T>& v) {
  return {v.data, v.extents, kernels::detail::row_major_steps(v.extents)};
}

namespace detail {

/// Whether the elements follow each other in row-major order. Steps of dims of extent 1 have no say. O(dims).
constexpr bool is_row_major(const shape& s, const kernels::steps& steps) {
  const kernels::steps dense = kernels::detail::row_major_steps(s);
  for (int d = 0; d < s.rank; ++d)
    if (s.extent[d] == 0) return true;
  for (int d = 0; d < s.rank; ++d)
    if (s.extent[d] > 1 && steps.along[d] != dense.along[d]) return false;
  return true;
}

/// "(4, 1)"
inline std::string steps_text(const shape& s, const kernels::steps& steps) {
  shape numbers = s;
  for (int d = 0; d < s.rank; ++d) numbers.extent[d] = steps.along[d];
  return to_text(numbers);
}

}  // namespace detail

/// Throws exchange_error, strides_leave_gaps, where kernels could not walk it.
template <class T>
tensor_view<T> tensor_of(const strided_view<T>& v) {
  if (!detail::is_row_major(v.extents, v.steps))
    throw exchange_error(exchange_code::strides_leave_gaps,
                         "strides " + detail::steps_text(v.extents, v.steps) + " of extents " + to_text(v.extents) +
                             "; expected " +
                             detail::steps_text(v.extents, kernels::detail::row_major_steps(v.extents)) +
                             ": copy it into a block first");
  return {v.data, v.extents};
}

}}}  // namespace hyperparallel::v0_2::interop
