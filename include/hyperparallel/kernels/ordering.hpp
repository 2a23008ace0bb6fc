// SPDX-License-Identifier: Apache-2.0
#pragma once
// Running sums and products, sorting, and the k best, along one dim.
//
// Laws: sorting is stable: equal elements keep their order, ascending and descending alike; the k best are the first k
// of the sorted row. A NaN ranks above every number, as in NumPy. No memory beyond the results.

#include <algorithm>
#include <compare>
#include <cstddef>
#include <iterator>

#include <hyperparallel/kernels/elementwise_functions.hpp>
#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

enum class sort_order { ascending, descending };

namespace detail {

template <class Function, class X, class R>
HYPERPARALLEL_EXACT void running_lanes(extent_t n, extent_t lanes, extent_t pitch, const X* x, R* out) {
  using C = computing<R>;
  constexpr extent_t most = 64;
  C running[most];
  for (extent_t first = 0; first < lanes; first += most, x += most, out += most) {
    const extent_t width = smaller(most, lanes - first);
    for (extent_t i = 0; i < n; ++i)
      for (extent_t l = 0; l < width; ++l) {
        const C value = static_cast<C>(load(x[i * pitch + l]));
        running[l] = i == 0 ? value : static_cast<C>(Function::of(running[l], value));
        out[i * pitch + l] = store<R>(running[l]);
      }
  }
}

template <class Function, class X, class R>
void running(tensor_view<X> x, tensor_view<R> out, int axis) {
  const axis_split s = split_at(x.extents, axis);
  for (extent_t o = 0; o < s.outer; ++o) {
    const extent_t start = o * s.middle * s.inner;
    running_lanes<Function>(s.middle, s.inner, s.inner, x.data + start, out.data + start);
  }
}

/// Elements `step` apart, for the algorithms of the standard library.
template <class T>
struct strided_iterator {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = T*;
  using reference = T&;

  T* at = nullptr;
  std::ptrdiff_t step = 1;

  reference operator*() const { return *at; }
  reference operator[](difference_type n) const { return at[n * step]; }
  strided_iterator& operator+=(difference_type n) { return at += n * step, *this; }
  strided_iterator& operator-=(difference_type n) { return at -= n * step, *this; }
  strided_iterator& operator++() { return *this += 1; }
  strided_iterator& operator--() { return *this -= 1; }
  strided_iterator operator++(int) { return {(*this += 1).at - step, step}; }
  strided_iterator operator--(int) { return {(*this -= 1).at + step, step}; }
  friend strided_iterator operator+(strided_iterator i, difference_type n) { return i += n; }
  friend strided_iterator operator+(difference_type n, strided_iterator i) { return i += n; }
  friend strided_iterator operator-(strided_iterator i, difference_type n) { return i -= n; }
  friend difference_type operator-(strided_iterator a, strided_iterator b) { return (a.at - b.at) / a.step; }
  friend bool operator==(strided_iterator a, strided_iterator b) { return a.at == b.at; }
  friend auto operator<=>(strided_iterator a, strided_iterator b) { return a.at <=> b.at; }
};

/// Whether the element at place a of a row comes before the one at b: a total order, so that any sort is stable.
template <class X>
struct comes_before {
  const X* row;
  extent_t pitch;
  sort_order order;

  template <class I>
  bool operator()(I a, I b) const {
    const auto left = load(row[static_cast<extent_t>(a) * pitch]);
    const auto right = load(row[static_cast<extent_t>(b) * pitch]);
    const bool falling = order == sort_order::descending;
    if (left < right || (left == left && right != right)) return !falling;
    if (right < left || (right == right && left != left)) return falling;
    return a < b;
  }
};

/// Calls `rank(first, last, before)` to order each row's places in index, and writes their values unless null.
template <class X, class V, class I, class Rank>
void rank_rows(tensor_view<X> x, tensor_view<V> value, tensor_view<I> index, int axis, sort_order order, Rank rank) {
  using element = std::remove_const_t<X>;
  const axis_split s = split_at(x.extents, axis);
  const extent_t kept = index.extents.extent[axis];
  for (extent_t o = 0; o < s.outer; ++o)
    for (extent_t i = 0; i < s.inner; ++i) {
      const element* const row = x.data + o * s.middle * s.inner + i;
      const extent_t start = o * kept * s.inner + i;
      const strided_iterator<I> first{index.data + start, s.inner};
      for (extent_t m = 0; m < kept; ++m) first[m] = static_cast<I>(m);
      rank(first, first + kept, comes_before<element>{row, s.inner, order}, s.middle);
      if (value.data == nullptr) continue;
      for (extent_t m = 0; m < kept; ++m)
        value.data[start + m * s.inner] = row[static_cast<extent_t>(first[m]) * s.inner];
    }
}

}  // namespace detail

/// Domain, here and below: results have x's extents. out may be x. Sums run left to right in the computing type.
template <class X, class R>
void cumsum(tensor_view<X> x, tensor_view<R> out, int axis) {
  detail::running<functions::add>(x, out, axis);
}

template <class X, class R>
void cumprod(tensor_view<X> x, tensor_view<R> out, int axis) {
  detail::running<functions::mul>(x, out, axis);
}

/// `value` gets the sorted rows, `index` where each element was. Domain: I counts to the extent. O(n log n) a row.
template <class X, class V, class I>
void sort(tensor_view<X> x, tensor_view<V> value, tensor_view<I> index, int axis,
          sort_order order = sort_order::ascending) {
  detail::rank_rows(x, value, index, axis, order,
                    [](auto first, auto last, auto before, extent_t) { std::sort(first, last, before); });
}

template <class X, class I>
void argsort(tensor_view<X> x, tensor_view<I> index, int axis, sort_order order = sort_order::ascending) {
  sort(x, tensor_view<std::remove_const_t<X>>{}, index, axis, order);
}

/// The first k of each sorted row, k the results' extent along `axis`: the largest, or with ascending order the
/// smallest. `value.data` may be null. Domain: k ≤ extent. O(n log k) a row.
template <class X, class V, class I>
void topk(tensor_view<X> x, tensor_view<V> value, tensor_view<I> index, int axis,
          sort_order order = sort_order::descending) {
  detail::rank_rows(x, value, index, axis, order, [](auto first, auto last, auto before, extent_t n) {
    if (first == last) return;
    std::make_heap(first, last, before);  // the worst of those held is on top
    for (extent_t m = last - first; m < n; ++m) {
      const auto place = static_cast<I>(m);
      if (!before(place, *first)) continue;
      std::pop_heap(first, last, before);
      *(last - 1) = place;
      std::push_heap(first, last, before);
    }
    std::sort_heap(first, last, before);
  });
}

}}}  // namespace hyperparallel::v0_2::kernels

HYPERPARALLEL_EXACT_END
