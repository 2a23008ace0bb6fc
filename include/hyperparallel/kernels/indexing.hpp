// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading by index: embedding, gather, index_select, gather_nd, one_hot, isin.
//
// A device holds a window [begin, begin + extent) of the axis that is indexed. Law: an index outside the window reads
// 0, so the sum of the results over windows that tile the axis is the result on the whole axis, exactly; with one
// window of everything only a wrong index reads 0. Indices are any integers and count from the start of the whole.

#include <algorithm>
#include <cstring>
#include <type_traits>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

namespace detail {

/// to = the run at `from`, or zeros where `inside` is false.
template <class T>
void copy_or_zero(bool inside, const T* from, T* to, extent_t n) {
  if (n == 0) return;
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(T);
  if (inside)
    std::memcpy(to, from, bytes);
  else
    std::memset(static_cast<void*>(to), 0, bytes);
}

}  // namespace detail

/// out[…, i, …] = x[…, index[i] − begin, …] along `axis`. Domain: index has one element for each of out's along `axis`.
template <class X, class I, class T>
void index_select(tensor_view<X> x, tensor_view<I> index, tensor_view<T> out, int axis, extent_t begin = 0) {
  const detail::axis_split s = detail::split_at(x.extents, axis);
  const extent_t chosen = volume(index);
  const std::remove_const_t<X>* const from = x.data;
  for (extent_t o = 0; o < s.outer; ++o)
    for (extent_t i = 0; i < chosen; ++i) {
      const extent_t row = static_cast<extent_t>(index.data[i]) - begin;
      const bool inside = row >= 0 && row < s.middle;
      detail::copy_or_zero(inside, inside ? from + (o * s.middle + row) * s.inner : from,
                           out.data + (o * chosen + i) * s.inner, s.inner);
    }
}

/// out[id…, :] = table[id − begin, :]. The table holds the rows [begin, begin + rows) of the vocabulary; rows outside
/// give 0: the partial form, complete after a sum over the devices that share the vocabulary.
template <class X, class I, class T>
void embedding(tensor_view<X> table, tensor_view<I> ids, tensor_view<T> out, extent_t begin = 0) {
  index_select(table, ids, out, 0, begin);
}

/// out[… i …] = x[… index[… i …] − begin …] along `axis`, all other coordinates kept. Domain: index has out's extents,
/// which outside `axis` are at most x's.
template <class X, class I, class T>
void gather(tensor_view<X> x, tensor_view<I> index, tensor_view<T> out, int axis, extent_t begin = 0) {
  const extent_t extent = x.extents.extent[axis];
  const extent_t pitch = detail::row_major_steps(x.extents).along[axis];
  steps array[2] = {detail::row_major_steps(x.extents), detail::row_major_steps(out.extents)};
  array[0].along[axis] = 0;
  detail::for_each_run(detail::loops_over(out.extents, array), [&](const auto& offset, extent_t n, const auto& step) {
    for (extent_t i = 0; i < n; ++i) {
      const extent_t at = offset[1] + i * step[1];
      const extent_t row = static_cast<extent_t>(index.data[at]) - begin;
      out.data[at] = row >= 0 && row < extent ? x.data[offset[0] + i * step[0] + row * pitch] : T{};
    }
  });
}

/// out[i…, :] = x[index[i…, 0], …, index[i…, k−1], :], k the last extent of index. `begin` is null or holds where the
/// window starts along each of the k dims. Domain: 0 < k ≤ rank of x; out has the elements of index.extents[:-1] ×
/// x.extents[k:].
template <class X, class I, class T>
void gather_nd(tensor_view<X> x, tensor_view<I> index, tensor_view<T> out, const extent_t* begin = nullptr) {
  const int k = static_cast<int>(index.extents.extent[index.extents.rank - 1]);
  const extent_t points = volume(index) / k;
  const extent_t run = detail::row_major_steps(x.extents).along[k - 1];
  const std::remove_const_t<X>* const from = x.data;
  for (extent_t p = 0; p < points; ++p) {
    extent_t row = 0;
    bool inside = true;
    for (int d = 0; d < k; ++d) {
      const extent_t i = static_cast<extent_t>(index.data[p * k + d]) - (begin == nullptr ? 0 : begin[d]);
      inside = inside && i >= 0 && i < x.extents.extent[d];
      row = inside ? row * x.extents.extent[d] + i : 0;
    }
    detail::copy_or_zero(inside, from + row * run, out.data + p * run, run);
  }
}

/// out[i…, c] = on where index[i…] = begin + c, off elsewhere; the classes are out's last dim.
template <class I, class T>
void one_hot(tensor_view<I> index, tensor_view<T> out, std::type_identity_t<T> on, std::type_identity_t<T> off,
             extent_t begin = 0) {
  const extent_t classes = out.extents.extent[out.extents.rank - 1];
  const extent_t n = volume(index);
  for (extent_t i = 0; i < n * classes; ++i) out.data[i] = off;
  for (extent_t i = 0; i < n; ++i) {
    const extent_t c = static_cast<extent_t>(index.data[i]) - begin;
    if (c >= 0 && c < classes) out.data[i * classes + c] = on;
  }
}

/// out[i] = whether x[i] is in `set`. `scratch` holds volume(set) elements. Domain: the set holds no NaN.
/// O((n + m) log m) for n elements and a set of m.
template <class X, class S, class T>
void isin(tensor_view<X> x, tensor_view<S> set, tensor_view<bool> out, T* scratch) {
  static_assert(std::is_same_v<std::remove_const_t<X>, T> && std::is_same_v<std::remove_const_t<S>, T>);
  const auto before = [](const T& a, const T& b) { return load(a) < load(b); };
  T* const end = std::copy_n(set.data, volume(set), scratch);
  std::sort(scratch, end, before);
  const extent_t n = volume(x);
  for (extent_t i = 0; i < n; ++i) {
    const T* const found =
        std::lower_bound(static_cast<const T*>(scratch), static_cast<const T*>(end), x.data[i], before);
    out.data[i] = found != end && load(*found) == load(x.data[i]);
  }
}

}}}  // namespace hyperparallel::v0_2::kernels

HYPERPARALLEL_EXACT_END
