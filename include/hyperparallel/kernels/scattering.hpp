// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writing by index: scatter, scatter_update, masked_scatter.
//
// The target is changed in place; for the forms that return a new tensor the caller copies first. As in indexing.hpp
// the target may be a window [begin, begin + extent) of the indexed axis; an index outside it writes nothing, so the
// windows of a target are the slices of what happens to the whole. Law: updates are applied in row-major order of the
// indices: of several overwrites of one place the last stays, and sums add in that order.

#include <cstdint>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

enum class scatter_mode { overwrite, add };

/// target[… index[… i …] − begin …] (+)= source[… i …] along `axis`, all other coordinates kept. Domain: index and
/// source have equal extents, which outside `axis` are at most the target's.
template <class I, class S, class T>
void scatter(tensor_view<I> index, tensor_view<S> source, tensor_view<T> target, int axis,
             scatter_mode mode = scatter_mode::overwrite, extent_t begin = 0) {
  const extent_t extent = target.extents.extent[axis];
  const extent_t pitch = detail::row_major_steps(target.extents).along[axis];
  steps array[2] = {detail::row_major_steps(target.extents), detail::row_major_steps(index.extents)};
  array[0].along[axis] = 0;
  detail::for_each_run(detail::loops_over(index.extents, array), [&](const auto& offset, extent_t n, const auto& step) {
    for (extent_t i = 0; i < n; ++i) {
      const extent_t at = offset[1] + i * step[1];
      const extent_t row = static_cast<extent_t>(index.data[at]) - begin;
      if (row < 0 || row >= extent) continue;
      T& to = target.data[offset[0] + i * step[0] + row * pitch];
      to = mode == scatter_mode::overwrite ? source.data[at] : store<T>(load(to) + load(source.data[at]));
    }
  });
}

/// target[index[i…] − begin, :] = source[i…, :].
template <class I, class S, class T>
void scatter_update(tensor_view<I> index, tensor_view<S> source, tensor_view<T> target, extent_t begin = 0) {
  const detail::axis_split s = detail::split_at(target.extents, 0);
  const extent_t chosen = volume(index);
  for (extent_t i = 0; i < chosen; ++i) {
    const extent_t row = static_cast<extent_t>(index.data[i]) - begin;
    for (extent_t j = 0; j < s.inner && row >= 0 && row < s.middle; ++j)
      target.data[row * s.inner + j] = source.data[i * s.inner + j];
  }
}

/// Where mask is set, the target takes the next element of source, in row-major order, from source[first] on; `first`
/// is how many were taken before this part of the whole. Returns how many were taken up to its end. Domain: mask has
/// the target's extents, source enough elements.
template <class S, class T>
extent_t masked_scatter(const_view<bool> mask, tensor_view<S> source, tensor_view<T> target, extent_t first = 0) {
  const extent_t n = volume(target);
  for (extent_t i = 0; i < n; ++i)
    if (mask.data[i]) target.data[i] = source.data[first++];
  return first;
}

}}}  // namespace hyperparallel::v0_2::kernels

HYPERPARALLEL_EXACT_END
