// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels that only move elements: permute, slice, concat, stack, pad, expand, repeat, flip, roll, tril.
//
// Law: every result element is one operand element (or the stated filler), unchanged. A split is several slices. Copies
// run in the result's row-major order, with the longest contiguous runs that both sides allow.

#include <cstring>
#include <type_traits>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

namespace detail {

/// to = from over a block of extents `s`, each side with its own steps.
template <class T>
void copy_block(const shape& s, const T* from, const steps& from_steps, T* to, const steps& to_steps) {
  static_assert(std::is_trivially_copyable_v<T>);
  const steps array[2] = {from_steps, to_steps};
  for_each_run(loops_over(s, array), [&](const auto& offset, extent_t n, const auto& stride) {
    const T* const source = from + offset[0];
    T* const target = to + offset[1];
    if (n == 1 || (stride[0] == 1 && stride[1] == 1))
      std::memcpy(target, source, static_cast<std::size_t>(n) * sizeof(T));
    else
      for (extent_t i = 0; i < n; ++i) target[i * stride[1]] = source[i * stride[0]];
  });
}

template <class T>
void copy_elements(const T* from, T* to, extent_t n) {
  if (n > 0) std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
}

}  // namespace detail

/// Dim d of out is dim order[d] of x. Domain: `order` is a permutation.
template <class X, class T>
void permute(tensor_view<X> x, tensor_view<T> out, const int* order) {
  const steps own = detail::row_major_steps(x.extents);
  steps from;
  for (int d = 0; d < x.extents.rank; ++d) from.along[d] = own.along[order[d]];
  detail::copy_block<T>(out.extents, x.data, from, out.data, detail::row_major_steps(out.extents));
}

/// out[i…] = x[begin + i · step …]. Steps may be negative. Domain: the elements named lie in x.
template <class X, class T>
void slice(tensor_view<X> x, tensor_view<T> out, const extent_t* begin, const extent_t* step) {
  const steps own = detail::row_major_steps(x.extents);
  steps from;
  extent_t start = 0;
  for (int d = 0; d < x.extents.rank; ++d) {
    from.along[d] = own.along[d] * step[d];
    start += own.along[d] * begin[d];
  }
  if (volume(out) > 0)
    detail::copy_block<T>(out.extents, x.data + start, from, out.data, detail::row_major_steps(out.extents));
}

/// The transpose of `slice`: out[begin + i · step …] = x[i…], 0 elsewhere. Domain: as `slice`, out in the place of x.
template <class X, class T>
void place_slice(tensor_view<X> x, tensor_view<T> out, const extent_t* begin, const extent_t* step) {
  const steps own = detail::row_major_steps(out.extents);
  for (extent_t i = 0, n = volume(out); i < n; ++i) out.data[i] = T{};
  steps to;
  extent_t start = 0;
  for (int d = 0; d < out.extents.rank; ++d) {
    to.along[d] = own.along[d] * step[d];
    start += own.along[d] * begin[d];
  }
  if (volume(x) > 0) detail::copy_block<T>(x.extents, x.data, detail::row_major_steps(x.extents), out.data + start, to);
}

/// Reverses the dims of `dims` (bit d is dim d).
template <class X, class T>
void flip(tensor_view<X> x, tensor_view<T> out, unsigned dims) {
  extent_t begin[max_dims] = {}, step[max_dims] = {};
  for (int d = 0; d < x.extents.rank; ++d) {
    const bool turned = (dims >> d & 1u) != 0;
    begin[d] = turned ? x.extents.extent[d] - 1 : 0;
    step[d] = turned ? -1 : 1;
  }
  slice(x, out, begin, step);
}

/// The parts side by side along `axis`. Domain: their other extents are out's, their extents along `axis` add to out's.
template <class X, class T>
void concat(const tensor_view<X>* parts, int count, tensor_view<T> out, int axis) {
  const detail::axis_split whole = detail::split_at(out.extents, axis);
  extent_t begin = 0;
  for (int p = 0; p < count; ++p) {
    const extent_t run = parts[p].extents.extent[axis] * whole.inner;
    for (extent_t o = 0; o < whole.outer; ++o)
      detail::copy_elements<T>(parts[p].data + o * run, out.data + o * whole.middle * whole.inner + begin, run);
    begin += run;
  }
}

/// The parts, all of one shape, along a new dim `axis` of out.
template <class X, class T>
void stack(const tensor_view<X>* parts, int count, tensor_view<T> out, int axis) {
  const detail::axis_split whole = detail::split_at(out.extents, axis);
  for (int p = 0; p < count; ++p)
    for (extent_t o = 0; o < whole.outer; ++o)
      detail::copy_elements<T>(parts[p].data + o * whole.inner, out.data + (o * whole.middle + p) * whole.inner,
                               whole.inner);
}

template <class T>
void fill(tensor_view<T> out, std::type_identity_t<T> value) {
  const extent_t n = volume(out);
  for (extent_t i = 0; i < n; ++i) out.data[i] = value;
}

/// x at `before` inside out, `value` around it. Domain: before[d] + extent of x ≤ extent of out.
template <class X, class T>
void pad(tensor_view<X> x, tensor_view<T> out, const extent_t* before, std::type_identity_t<T> value) {
  fill(out, value);
  const steps to = detail::row_major_steps(out.extents);
  extent_t start = 0;
  for (int d = 0; d < x.extents.rank; ++d) start += before[d] * to.along[d];
  if (volume(x) > 0) detail::copy_block<T>(x.extents, x.data, detail::row_major_steps(x.extents), out.data + start, to);
}

/// x repeated along the dims where it has extent 1 or none. Domain: x broadcasts to out.
template <class X, class T>
void expand(tensor_view<X> x, tensor_view<T> out) {
  detail::copy_block<T>(out.extents, x.data, detail::broadcast_steps(x.extents, out.extents), out.data,
                        detail::row_major_steps(out.extents));
}

/// Row i along `axis` comes times[i] times in a row, or times[0] times for all where `uniform`.
/// Domain: counts ≥ 0 add to out's extent.
template <class X, class T>
void repeat_interleave(tensor_view<X> x, tensor_view<T> out, int axis, const extent_t* times, bool uniform) {
  const detail::axis_split s = detail::split_at(x.extents, axis);
  const std::remove_const_t<X>* from = x.data;
  T* to = out.data;
  for (extent_t o = 0; o < s.outer; ++o)
    for (extent_t m = 0; m < s.middle; ++m, from += s.inner)
      for (extent_t r = 0; r < times[uniform ? 0 : m]; ++r, to += s.inner) detail::copy_elements(from, to, s.inner);
}

/// out[i + shift, around the end] = x[i] along `axis`; shifts of any size and sign.
template <class X, class T>
void roll(tensor_view<X> x, tensor_view<T> out, int axis, extent_t shift) {
  const detail::axis_split s = detail::split_at(x.extents, axis);
  if (s.middle == 0) return;
  const extent_t wrapped = (shift % s.middle + s.middle) % s.middle;
  const extent_t head = wrapped * s.inner, tail = (s.middle - wrapped) * s.inner;
  for (extent_t o = 0; o < s.outer; ++o) {
    const std::remove_const_t<X>* const from = x.data + o * (head + tail);
    T* const to = out.data + o * (head + tail);
    detail::copy_elements(from, to + head, tail);
    detail::copy_elements(from + tail, to, head);
  }
}

/// Keeps element (r, c) of the last two dims where c − r ≤ diagonal, 0 elsewhere. Where x is the part of a larger
/// matrix that starts at (row, column), the diagonal here is the whole's + row − column. out may be x.
template <class X, class T>
void tril(tensor_view<X> x, tensor_view<T> out, extent_t diagonal) {
  const int rank = x.extents.rank;
  const extent_t rows = x.extents.extent[rank - 2], columns = x.extents.extent[rank - 1];
  const extent_t n = volume(x);
  for (extent_t start = 0, r = 0; start < n; start += columns, r = r + 1 == rows ? 0 : r + 1) {
    const extent_t kept = smaller(columns, larger(0, r + diagonal + 1));
    for (extent_t c = 0; c < kept; ++c) out.data[start + c] = x.data[start + c];
    for (extent_t c = kept; c < columns; ++c) out.data[start + c] = T{};
  }
}

}}}  // namespace hyperparallel::v0_2::kernels

HYPERPARALLEL_EXACT_END
