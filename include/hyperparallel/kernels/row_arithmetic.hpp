// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of numbers: sums in eight lanes, weighted additions, and memory that a thread keeps between calls.
//
// Law: `lane_sum` adds term i to lane i mod 8 and joins the lanes by halves, so its bits depend on the terms alone and
// its error grows with an eighth of their number. O(n) each.

#include <cmath>
#include <vector>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/support/integer.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

namespace detail {

/// Σ term(i) for i < n, in type C.
template <class C, class Term>
C lane_sum(extent_t n, const Term& term) {
  constexpr int lanes = 8;
  C lane[lanes] = {};
  extent_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int l = 0; l < lanes; ++l) lane[l] += term(i + l);
  for (int l = 0; i < n; ++i, ++l) lane[l] += term(i);
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
  return lane[0];
}

}  // namespace detail

template <class T>
HYPERPARALLEL_EXACT T dot(extent_t n, const T* x, const T* y) {
  HYPERPARALLEL_EXACT_BODY
  return detail::lane_sum<T>(n, [&](extent_t i) { return x[i] * y[i]; });
}

namespace detail {

/// y += x.
template <class T>
HYPERPARALLEL_EXACT void add_row(extent_t n, const T* x, T* y) {
  HYPERPARALLEL_EXACT_BODY
  extent_t i = 0;
  for (; i + 8 <= n; i += 8) {
    T from[8];
    for (int l = 0; l < 8; ++l) from[l] = x[i + l];
    for (int l = 0; l < 8; ++l) y[i + l] += from[l];
  }
  for (; i < n; ++i) y[i] += x[i];
}

/// y += by · x.
template <class T>
HYPERPARALLEL_EXACT void add_scaled_row(extent_t n, T by, const T* x, T* y) {
  HYPERPARALLEL_EXACT_BODY
  extent_t i = 0;
  for (; i + 8 <= n; i += 8) {
    T product[8];
    for (int l = 0; l < 8; ++l) product[l] = by * x[i + l];
    for (int l = 0; l < 8; ++l) y[i + l] += product[l];
  }
  for (; i < n; ++i) y[i] += by * x[i];
}

/// At least `count` elements that stay this thread's; `Use` tells apart what is in use at one time. Contents are
/// whatever they were.
template <class T, int Use>
T* thread_memory(extent_t count) {
  static thread_local std::vector<T> memory;
  if (static_cast<extent_t>(memory.size()) < count) memory.resize(static_cast<std::size_t>(count));
  return memory.data();
}

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::kernels

HYPERPARALLEL_EXACT_END
