// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors of doubles on a mesh of two by two, and derivatives by differences.

#include <hyperparallel/dtensor/creation.hpp>

#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace small_world {

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
template <hp::map_entry... Entries>
using on = hp::layout<mesh, Entries...>;
inline constexpr auto none = hp::none;
template <class Layout, int... Extents>
using tensor = hp::dtensor<double, hp::extents<Extents...>, Layout>;
template <class T>
using layout_of = typename std::remove_cvref_t<T>::layout;

inline const hp::rank_group& group() {
  static const hp::rank_group g(4, {.threads = 1});
  return g;
}

/// Numbers between -1 and 1 that look arbitrary.
template <class Tensor>
Tensor waves(double phase = 0) {
  return hp::generate<Tensor>(group(), [phase](hp::extent_t i) {
    return static_cast<typename Tensor::element>(std::sin(phase + 0.7 * static_cast<double>(i)));
  });
}

/// The slope of `f`, a number of a tensor, along element `i` of `x`: a central difference.
template <class Tensor, class F>
double slope(const F& f, const Tensor& x, std::size_t i) {
  std::vector<double> values = x.full_tensor();
  const double middle = values[i], step = 1e-5;
  values[i] = middle + step;
  const double above = f(hp::distribute<Tensor>(group(), values));
  values[i] = middle - step;
  const double below = f(hp::distribute<Tensor>(group(), values));
  return (above - below) / (2 * step);
}

}  // namespace small_world
