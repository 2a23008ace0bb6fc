// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the kernels' definitions are written with in tests: arrays addressed by coordinates, one element at a time.

#include <hyperparallel/kernels/tensor_view.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

namespace naive {

namespace hp = hyperparallel;
namespace hk = hyperparallel::kernels;
using hp::extent_t;
using index = std::vector<extent_t>;

template <class T>
struct array {
  hp::shape extents;
  extent_t count;
  std::unique_ptr<T[]> element;  // not a vector: that of bool has no elements

  explicit array(const hp::shape& s = {}, T value = T{})
      : extents(s), count(hp::element_count(s).value), element(new T[static_cast<std::size_t>(count) + 1]) {
    for (extent_t i = 0; i < count; ++i) element[static_cast<std::size_t>(i)] = value;
  }
  array(const array& other) : array(other.extents) {
    for (extent_t i = 0; i < count; ++i) (*this)[i] = other[i];
  }
  array& operator=(array other) {
    extents = other.extents;
    count = other.count;
    element.swap(other.element);
    return *this;
  }

  T& operator[](extent_t i) { return element[static_cast<std::size_t>(i)]; }
  const T& operator[](extent_t i) const { return element[static_cast<std::size_t>(i)]; }

  extent_t offset(const index& i) const {
    extent_t o = 0;
    for (int d = 0; d < extents.rank; ++d) o = o * extents.extent[d] + i[static_cast<std::size_t>(d)];
    return o;
  }
  T& at(const index& i) { return (*this)[offset(i)]; }
  const T& at(const index& i) const { return (*this)[offset(i)]; }

  /// The element that broadcasting puts at `i` of a result of at least this rank.
  const T& broadcast(const index& i) const {
    index own(i.end() - extents.rank, i.end());
    for (int d = 0; d < extents.rank; ++d)
      if (extents.extent[d] == 1) own[static_cast<std::size_t>(d)] = 0;
    return at(own);
  }

  hp::tensor_view<T> view() { return {element.get(), extents}; }
  hp::const_view<T> view() const { return {element.get(), extents}; }
};

inline hp::shape shape_of(const index& extents) {
  hp::shape s;
  for (const extent_t n : extents) s.extent[s.rank++] = n;
  return s;
}
inline index extents_of(const hp::shape& s) { return index(s.extent, s.extent + s.rank); }

/// Calls `visit` with every index of `s`, in row-major order.
template <class Visit>
void for_each_index(const hp::shape& s, Visit visit) {
  if (hp::element_count(s).value == 0) return;
  index i(static_cast<std::size_t>(s.rank));
  while (true) {
    visit(static_cast<const index&>(i));
    int d = s.rank - 1;
    for (; d >= 0 && ++i[static_cast<std::size_t>(d)] == s.extent[d]; --d) i[static_cast<std::size_t>(d)] = 0;
    if (d < 0) return;
  }
}

/// Calls `visit` with every shape of at most `rank` dims, at least `least` and at most `most` long each.
template <class Visit>
void for_each_shape(int least_rank, int rank, extent_t least, extent_t most, Visit visit) {
  for (int r = least_rank; r <= rank; ++r) {
    hp::shape choices;
    choices.rank = r;
    for (int d = 0; d < r; ++d) choices.extent[d] = most - least + 1;
    for_each_index(choices, [&](const index& i) {
      hp::shape s = choices;
      for (int d = 0; d < r; ++d) s.extent[d] = least + i[static_cast<std::size_t>(d)];
      visit(static_cast<const hp::shape&>(s));
    });
  }
}

/// Small integers, or normal floats; the same for the same seed.
template <class T>
array<T> noise(const hp::shape& s, unsigned seed) {
  std::mt19937 random(seed * 2654435761u + 1u);
  array<T> a(s);
  for (extent_t i = 0; i < a.count; ++i) {
    if constexpr (std::is_same_v<T, bool>)
      a[i] = random() % 2 != 0;
    else if constexpr (std::is_integral_v<T>)
      a[i] = static_cast<T>(static_cast<int>(random() % 19) - 9);
    else
      a[i] = hk::store<T>(std::normal_distribution<float>()(random));
  }
  return a;
}

/// Integers in [0, end).
template <class T>
array<T> choices(const hp::shape& s, extent_t end, unsigned seed) {
  std::mt19937 random(seed * 2246822519u + 1u);
  array<T> a(s);
  for (extent_t i = 0; i < a.count; ++i) a[i] = static_cast<T>(random() % static_cast<unsigned>(end));
  return a;
}

/// The part of `a` in `b`.
template <class T>
array<T> part(const array<T>& a, const hp::box& b) {
  hp::shape s = a.extents;
  for (int d = 0; d < s.rank; ++d) s.extent[d] = b.dim[d].end - b.dim[d].begin;
  array<T> r(s);
  for_each_index(s, [&](const index& i) {
    index from = i;
    for (int d = 0; d < s.rank; ++d) from[static_cast<std::size_t>(d)] += b.dim[d].begin;
    r.at(i) = a.at(from);
  });
  return r;
}

/// [begin, end) of one dim of `a`, all of the others.
template <class T>
array<T> part(const array<T>& a, int dim, extent_t begin, extent_t end) {
  hp::box b;
  b.rank = a.extents.rank;
  for (int d = 0; d < b.rank; ++d) b.dim[d] = {0, a.extents.extent[d]};
  b.dim[dim] = {begin, end};
  return part(a, b);
}

template <class A, class B>
bool same(const array<A>& a, const array<B>& b) {
  if (a.count != b.count) return false;
  for (extent_t i = 0; i < a.count; ++i) {
    const auto x = hk::load(a[i]);
    const auto y = hk::load(b[i]);
    if (!(x == y || (x != x && y != y))) return false;
  }
  return true;
}

/// The largest |a − b| / (1 + |b|).
template <class A, class B>
double distance(const array<A>& a, const array<B>& b) {
  if (a.count != b.count) return INFINITY;
  double most = 0;
  for (extent_t i = 0; i < a.count; ++i) {
    const double x = static_cast<double>(hk::load(a[i])), y = static_cast<double>(hk::load(b[i]));
    if (x == y) continue;
    const double away = std::abs(x - y) / (1 + std::abs(y));
    if (!(away <= most)) most = away;
  }
  return most;
}

}  // namespace naive
