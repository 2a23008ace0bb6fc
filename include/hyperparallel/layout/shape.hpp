// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shapes and boxes: the extents of a tensor, and the half-open intervals that one device holds of it.
//
// Law: volume(intersection(a, b)) ≤ volume(a); a box with an empty interval has volume 0, a box of rank 0 volume 1.

#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr int max_dims = 8;

/// Extents per dim, outermost first: `shape{8, 4096, 7168}`.
struct shape {
  int rank = 0;
  extent_t extent[max_dims] = {};

  constexpr shape() = default;
  template <class... Extents>
    requires(sizeof...(Extents) > 0 && sizeof...(Extents) <= max_dims)
  constexpr explicit(sizeof...(Extents) == 1) shape(Extents... extents)
      : rank(static_cast<int>(sizeof...(Extents))), extent{static_cast<extent_t>(extents)...} {}
  friend constexpr bool operator==(const shape&, const shape&) = default;
};

/// Product of the extents; 1 for rank 0. `overflow` where it leaves 64 bits, or that of the extents above 0 does: no
/// order of factors then overflows where the product is 0.
constexpr checked_extent element_count(const shape& s) {
  checked_extent n{1, false};
  bool empty = false;
  for (int d = 0; d < s.rank; ++d) {
    if (s.extent[d] == 0) {
      empty = true;
      continue;
    }
    n = checked_multiply(n.value, s.extent[d]);
    if (n.overflow) return n;
  }
  if (empty) n.value = 0;
  return n;
}

/// [begin, end) of one dim.
struct interval {
  extent_t begin = 0;
  extent_t end = 0;
  friend constexpr bool operator==(const interval&, const interval&) = default;
};

namespace detail {
inline constexpr interval absent_interval{-1, -1};
}

/// One interval per dim: `box{{0, 4}, {0, 4096}}`.
struct box {
  int rank = 0;
  interval dim[max_dims] = {};

  constexpr box() = default;
  constexpr box(interval d0, interval d1 = detail::absent_interval, interval d2 = detail::absent_interval,
                interval d3 = detail::absent_interval, interval d4 = detail::absent_interval,
                interval d5 = detail::absent_interval, interval d6 = detail::absent_interval,
                interval d7 = detail::absent_interval) {
    const interval given[max_dims] = {d0, d1, d2, d3, d4, d5, d6, d7};
    while (rank < max_dims && !(given[rank] == detail::absent_interval)) {
      dim[rank] = given[rank];
      ++rank;
    }
  }
  friend constexpr bool operator==(const box&, const box&) = default;
};

/// Elements of a box. Domain: the shape it was cut from has a volume within 64 bits.
constexpr extent_t volume(const box& b) {
  extent_t n = 1;
  for (int d = 0; d < b.rank; ++d) n *= b.dim[d].end > b.dim[d].begin ? b.dim[d].end - b.dim[d].begin : 0;
  return n;
}

/// The elements in both boxes. Domain: equal ranks.
constexpr box intersection(const box& a, const box& b) {
  box r = a;
  for (int d = 0; d < a.rank; ++d) {
    r.dim[d].begin = larger(a.dim[d].begin, b.dim[d].begin);
    r.dim[d].end = larger(r.dim[d].begin, smaller(a.dim[d].end, b.dim[d].end));
  }
  return r;
}

}}  // namespace hyperparallel::v0_2
