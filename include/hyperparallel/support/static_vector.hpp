// SPDX-License-Identifier: Apache-2.0
#pragma once
// A sequence of at most `Capacity` elements with its array in public, so that it is structural and hot loops can write
// `v.item[i]`. Law: 0 ≤ size ≤ Capacity; elements at and beyond `size` are value-initialised and never compared.

#include <cstddef>

#include <hyperparallel/support/array_bound.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <class T, int Capacity>
struct static_vector {
  static_assert(Capacity > 0, "a static_vector holds at least one element");
  using value_type = T;

  int size = 0;
  T item[detail::array_bound(Capacity)] = {};

  static constexpr int capacity() { return Capacity; }
  constexpr bool empty() const { return size == 0; }
  constexpr bool full() const { return size == Capacity; }

  constexpr const T& operator[](int i) const { return item[i]; }
  constexpr T& operator[](int i) { return item[i]; }
  constexpr const T* begin() const { return item; }
  constexpr const T* end() const { return item + size; }
  constexpr T* begin() { return item; }
  constexpr T* end() { return item + size; }

  /// Appends; false, and nothing changes, when full.
  constexpr bool push(const T& value) {
    if (size == Capacity) return false;
    item[size++] = value;
    return true;
  }

  friend constexpr bool operator==(const static_vector& a, const static_vector& b) {
    if (a.size != b.size) return false;
    for (int i = 0; i < a.size; ++i)
      if (!(a.item[i] == b.item[i])) return false;
    return true;
  }
};

}}  // namespace hyperparallel::v0_2
