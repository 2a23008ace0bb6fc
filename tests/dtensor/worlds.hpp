// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small worlds for tensor tests: layouts with partial states, terms that look arbitrary, and what a position must hold
// of a tensor, worked out element by element without the code under test.

#include <hyperparallel/dtensor/conversion.hpp>

#include "support/all_layouts.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace worlds {

/// Numbers from -9 to 9 that look arbitrary.
inline std::int64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<std::int64_t>((x ^ (x >> 31)) % 19) - 9;
}

/// A number for (seed, stream, index).
inline std::int64_t mixed(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return mixed(seed * 1'000'003 + stream * 7'919 + index * 2'654'435'761ULL + 1);
}

/// Row-major numbers in the whole of the elements of a box.
inline std::vector<hp::extent_t> numbers_of(const hp::box& b, const hp::shape& whole) {
  std::vector<hp::extent_t> numbers;
  const hp::extent_t n = hp::volume(b);
  for (hp::extent_t i = 0; i < n; ++i) {
    hp::extent_t rest = i, number = 0, stride = 1;
    for (int d = b.rank - 1; d >= 0; --d) {
      const hp::extent_t size = b.dim[d].end - b.dim[d].begin;
      number += (b.dim[d].begin + rest % size) * stride;
      rest /= size;
      stride *= whole.extent[d];
    }
    numbers.push_back(number);
  }
  return numbers;
}

/// Number of a position's term among those that differ from it along partial axes only.
inline int term_of(const hp::layout_value& l, int position) {
  const hp::coordinate c = hp::coordinates_of(l.mesh, position);
  int term = 0;
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if (l.partial[a] != hp::reduce_op::none) term = term * l.mesh.size[a] + c.at[a];
  return term;
}

inline std::int64_t reduce_two(hp::reduce_op op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case hp::reduce_op::max:
      return a > b ? a : b;
    case hp::reduce_op::min:
      return a < b ? a : b;
    case hp::reduce_op::prod:
      return a * b;
    case hp::reduce_op::all:
      return a != 0 && b != 0;
    case hp::reduce_op::any:
      return a != 0 || b != 0;
    default:
      return a + b;
  }
}

/// Which numbers a sample holds: from `low` to `high`, times `multiple`; or powers of two, or truth values.
struct numbers {
  std::int64_t low = -9, high = 9, multiple = 1;
  bool powers = false, truths = false;
};

/// A tensor of whole numbers whose terms look arbitrary, and its value worked out by hand. Averages come out whole,
/// because every term is then a multiple of the number of devices; terms of products stay small.
template <class T>
struct sample {
  hp::dynamic_dtensor tensor;
  std::vector<T> value;
};

template <class T>
sample<T> sampled(const hp::rank_group& group, const hp::shape& s, const hp::layout_value& l, std::uint64_t seed,
                  const numbers& of = {}) {
  const int positions = hp::position_count(l.mesh);
  hp::reduce_op op = hp::reduce_op::none;
  int terms = 1, divisor = 1;
  for (int a = 0; a < l.mesh.axis_count; ++a) {
    if (l.partial[a] == hp::reduce_op::none) continue;
    op = l.partial[a];
    terms *= l.mesh.size[a];
    if (op == hp::reduce_op::avg) divisor *= l.mesh.size[a];
  }
  const auto term = [&](int t, hp::extent_t number) -> std::int64_t {
    const std::int64_t v = 9 + mixed(seed, static_cast<std::uint64_t>(t), static_cast<std::uint64_t>(number));
    if (of.truths) return v % 2;
    if (op == hp::reduce_op::prod) return of.low > 0 || of.powers ? 1 + v % 2 : v % 4 - 1;
    const std::int64_t chosen = of.powers ? std::int64_t{1} << v % 3 : of.low + v % (of.high - of.low + 1);
    return chosen * of.multiple * (divisor > 1 ? positions : 1);
  };
  hp::dynamic_dtensor tensor = hp::detail::make_dtensor(group, {hp::detail::data_type_of<T>, s, l}, "sample",
                                                        [&](int p, const hp::local_block& b) {
                                                          T* to = reinterpret_cast<T*>(b.data);
                                                          for (const hp::extent_t number : numbers_of(b.place, s))
                                                            *to++ = static_cast<T>(term(term_of(l, p), number));
                                                        });
  std::vector<T> value;
  for (hp::extent_t number = 0; number < hp::element_count(s).value; ++number) {
    std::int64_t v = term(0, number);
    for (int t = 1; t < terms; ++t) v = reduce_two(op, v, term(t, number));
    value.push_back(static_cast<T>(v / divisor));
  }
  return {std::move(tensor), std::move(value)};
}

}  // namespace worlds
