// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the local kernels work on: a pointer and the extents of a row-major block without gaps.
//
// Kernels take the operands' views first, then the results', then settings. They check nothing: a kernel's domain says
// how the extents must fit each other, and results overlap no operand unless the kernel says that they may.
// Law of arithmetic: elements are loaded into their computing type, worked on there and stored once, so a 16-bit float
// is rounded once per result and not once per operation.
//
// The loops come from `loop_nest`: a block walked in row-major order with one step per dim for each of several arrays
// (0 broadcasts). It is flattened first: unit dims vanish, and a dim joins the one inside it where every array's step
// allows, so that the innermost loop is as long as the data let it be.

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <hyperparallel/kernels/element_type.hpp>
#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/narrow_float.hpp>
#include <hyperparallel/layout/shape.hpp>
#include <hyperparallel/support/array_bound.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 {

template <class T>
struct tensor_view {
  T* data = nullptr;
  shape extents{};

  constexpr operator tensor_view<const T>() const  // NOLINT: as a pointer converts
    requires(!std::is_const_v<T>)
  {
    return {data, extents};
  }
};

template <class T>
using const_view = tensor_view<const T>;

/// Elements of a view. Domain: they fit in memory, hence in 64 bits.
template <class T>
constexpr extent_t volume(const tensor_view<T>& view) {
  extent_t n = 1;
  for (int d = 0; d < view.extents.rank; ++d) n *= view.extents.extent[d];
  return n;
}

namespace kernels {

/// The type in which elements of T are computed: float for the 16-bit floats, T itself for everything else.
template <class T>
using computing = std::conditional_t<std::is_same_v<std::remove_const_t<T>, bf16_bits> ||
                                         std::is_same_v<std::remove_const_t<T>, f16_bits>,
                                     float, std::remove_const_t<T>>;

template <class T>
constexpr computing<T> load(const T& x) {
  if constexpr (std::is_same_v<computing<T>, T>)
    return x;
  else
    return hyperparallel::detail::to_float(x);
}

/// x as an element of T, rounded once. Domain: a float stored as an integer lies in its range; a bool is x ≠ 0.
template <class T, class X>
constexpr T store(const X& x) {
  if constexpr (std::is_same_v<T, bf16_bits>)
    return hyperparallel::detail::to_bf16(x);
  else if constexpr (std::is_same_v<T, f16_bits>)
    return hyperparallel::detail::to_f16(x);
  else if constexpr (std::is_same_v<T, bool> && !std::is_same_v<X, bool>)
    return x != X{};
  else
    return static_cast<T>(x);
}

/// An array's distance, in elements, between neighbours along each dim.
struct steps {
  extent_t along[max_dims] = {};
};

namespace detail {

constexpr steps row_major_steps(const shape& s) {
  steps r;
  extent_t step = 1;
  for (int d = s.rank; d-- > 0; step *= s.extent[d]) r.along[d] = step;
  return r;
}

/// The steps with which an operand of extents `s` is read at the elements of `whole`: right-aligned, missing and unit
/// dims stand still. Domain: `s` broadcasts to `whole`.
constexpr steps broadcast_steps(const shape& s, const shape& whole) {
  const steps own = row_major_steps(s);
  steps r;
  for (int d = 0; d < s.rank; ++d)
    if (s.extent[d] != 1) r.along[d + whole.rank - s.rank] = own.along[d];
  return r;
}

/// A block seen from one of its dims: `outer` blocks of `middle` rows of `inner` contiguous elements.
struct axis_split {
  extent_t outer = 1, middle = 1, inner = 1;
};

constexpr axis_split split_at(const shape& s, int axis) {
  axis_split r;
  for (int d = 0; d < axis; ++d) r.outer *= s.extent[d];
  r.middle = s.extent[axis];
  for (int d = axis + 1; d < s.rank; ++d) r.inner *= s.extent[d];
  return r;
}

/// Nested loops, outermost first, over `Arrays` arrays.
template <int Arrays>
struct loop_nest {
  int loops = 0;
  bool empty = false;
  extent_t count[max_dims] = {};
  extent_t step[max_dims][hyperparallel::detail::array_bound(Arrays)] = {};
};

/// The loops over a block of extents `s`, flattened. O(rank · Count).
template <std::size_t Count>
constexpr loop_nest<static_cast<int>(Count)> loops_over(const shape& s, const steps (&array)[Count]) {
  constexpr int arrays = static_cast<int>(Count);
  loop_nest<arrays> r;
  for (int d = 0; d < s.rank; ++d) {
    const extent_t n = s.extent[d];
    r.empty = r.empty || n == 0;
    if (n == 1) continue;
    bool joins = r.loops > 0;
    for (int a = 0; a < arrays; ++a) joins = joins && r.step[r.loops - 1][a] == n * array[a].along[d];
    const int loop = joins ? r.loops - 1 : r.loops++;
    r.count[loop] = joins ? r.count[loop] * n : n;
    for (int a = 0; a < arrays; ++a) r.step[loop][a] = array[a].along[d];
  }
  return r;
}

/// Calls `run(offset, count, step)` for every innermost loop, in row-major order: its first element is at `offset[a]`
/// of array a, and `count` elements follow each other `step[a]` apart.
template <int Arrays, class Run>
constexpr void for_each_run(const loop_nest<Arrays>& nest, Run&& run) {
  if (nest.empty) return;
  using numbers = const extent_t(&)[hyperparallel::detail::array_bound(Arrays)];
  extent_t offset[hyperparallel::detail::array_bound(Arrays)] = {};
  constexpr extent_t still[hyperparallel::detail::array_bound(Arrays)] = {};
  const int inner = nest.loops - 1;
  if (inner < 0) {
    run(static_cast<numbers>(offset), extent_t{1}, static_cast<numbers>(still));
    return;
  }
  extent_t index[max_dims] = {};
  while (true) {
    run(static_cast<numbers>(offset), nest.count[inner], static_cast<numbers>(nest.step[inner]));
    int loop = inner - 1;
    for (; loop >= 0; --loop) {
      for (int a = 0; a < Arrays; ++a) offset[a] += nest.step[loop][a];
      if (++index[loop] < nest.count[loop]) break;
      for (int a = 0; a < Arrays; ++a) offset[a] -= nest.step[loop][a] * nest.count[loop];
      index[loop] = 0;
    }
    if (loop < 0) return;
  }
}

}  // namespace detail

}  // namespace kernels
}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
