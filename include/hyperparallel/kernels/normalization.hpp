// SPDX-License-Identifier: Apache-2.0
#pragma once
// Softmax, log-softmax, layer norm and RMS norm.
//
// Law: a result depends on its own row alone (the elements along the normalized dims), each sum being a `lane_sum` in the
// computing type; so any split of the other dims gives bit-equal parts. Results may be the operand itself.

#include <cmath>
#include <concepts>
#include <type_traits>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/reduction.hpp>
#include <hyperparallel/kernels/row_arithmetic.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

namespace detail {

/// A softmax row of `n` elements side by side.
template <bool Logarithm, class X, class R>
HYPERPARALLEL_EXACT void softmax_row(extent_t n, const X* x, R* out) {
  HYPERPARALLEL_EXACT_BODY
  using C = computing<R>;
  C largest = lowest<C>;
  for (extent_t i = 0; i < n; ++i) largest = functions::maximum::of(largest, static_cast<C>(load(x[i])));
  const auto power = [&](extent_t i) { return std::exp(static_cast<C>(load(x[i])) - largest); };
  // Powers that the result can hold unrounded are kept there; narrower results would have to round them twice.
  if constexpr (!Logarithm && std::is_same_v<C, R>) {
    for (extent_t i = 0; i < n; ++i) out[i] = power(i);
    const C total = lane_sum<C>(n, [&](extent_t i) { return out[i]; });
    for (extent_t i = 0; i < n; ++i) out[i] /= total;
  } else {
    const C total = lane_sum<C>(n, power);
    const C logarithm = Logarithm ? std::log(total) : C(0);
    for (extent_t i = 0; i < n; ++i)
      out[i] = store<R>(Logarithm ? static_cast<C>(load(x[i])) - largest - logarithm : power(i) / total);
  }
}

/// Rows of `n` elements `pitch` apart, `lanes` of them side by side: each through memory of its own, with the bits of
/// `softmax_row`.
template <bool Logarithm, class X, class R>
void softmax_columns(extent_t n, extent_t lanes, extent_t pitch, const X* x, R* out) {
  X* const from = thread_memory<X, 1>(n);
  R* const to = thread_memory<R, 2>(n);
  for (extent_t l = 0; l < lanes; ++l) {
    for (extent_t i = 0; i < n; ++i) from[i] = x[i * pitch + l];
    softmax_row<Logarithm>(n, from, to);
    for (extent_t i = 0; i < n; ++i) out[i * pitch + l] = to[i];
  }
}

template <bool Logarithm, class X, class R>
void softmax_along(tensor_view<X> x, tensor_view<R> out, int axis) {
  using element = std::remove_const_t<X>;
  const axis_split s = split_at(x.extents, axis);
  for (extent_t o = 0; o < s.outer; ++o) {
    const extent_t start = o * s.middle * s.inner;
    const element* const from = x.data + start;
    if (s.inner == 1)
      softmax_row<Logarithm>(s.middle, from, out.data + start);
    else
      softmax_columns<Logarithm>(s.middle, s.inner, s.inner, from, out.data + start);
  }
}

}  // namespace detail

/// e^(x − max) / Σ e^(x − max) along `axis`. A row of −∞ alone gives NaN.
template <class X, class R>
  requires std::floating_point<computing<R>>
void softmax(tensor_view<X> x, tensor_view<R> out, int axis) {
  detail::softmax_along<false>(x, out, axis);
}

/// x − max − log Σ e^(x − max) along `axis`.
template <class X, class R>
  requires std::floating_point<computing<R>>
void log_softmax(tensor_view<X> x, tensor_view<R> out, int axis) {
  detail::softmax_along<true>(x, out, axis);
}

namespace detail {

/// Of one row: its mean, and 1 / √(variance + epsilon).
template <class C>
struct row_moments {
  C mean, scale;
};
template <class C, class X>
HYPERPARALLEL_EXACT row_moments<C> moments_of(extent_t n, const X* x, double epsilon) {
  HYPERPARALLEL_EXACT_BODY
  const auto at = [x](extent_t i) { return static_cast<C>(load(x[i])); };
  const C mean = lane_sum<C>(n, at) / static_cast<C>(n);
  const C squares = lane_sum<C>(n, [at, mean](extent_t i) { return (at(i) - mean) * (at(i) - mean); });
  return {mean, C(1) / std::sqrt(squares / static_cast<C>(n) + static_cast<C>(epsilon))};
}

}  // namespace detail

/// (x − mean) / √(variance + epsilon) · weight + bias over the trailing dims, whose extents are weight.extents.
/// `weight.data` (then 1) and `bias.data` (then 0) may be null; `mean` and `reciprocal_deviation`, one a row, too.
template <class X, class W, class R, class C = computing<R>>
HYPERPARALLEL_EXACT void layer_norm(tensor_view<X> x, tensor_view<W> weight, std::type_identity_t<const_view<W>> bias,
                                    tensor_view<R> out, double epsilon, std::type_identity_t<C>* mean = nullptr,
                                    std::type_identity_t<C>* reciprocal_deviation = nullptr) {
  HYPERPARALLEL_EXACT_BODY
  const extent_t width = volume(weight);
  const extent_t rows = width == 0 ? 0 : volume(x) / width;
  for (extent_t r = 0; r < rows; ++r) {
    const X* const from = x.data + r * width;
    R* const to = out.data + r * width;
    const detail::row_moments<C> m = detail::moments_of<C>(width, from, epsilon);
    for (extent_t i = 0; i < width; ++i) {
      C value = (static_cast<C>(load(from[i])) - m.mean) * m.scale;
      if (weight.data != nullptr) value *= static_cast<C>(load(weight.data[i]));
      if (bias.data != nullptr) value += static_cast<C>(load(bias.data[i]));
      to[i] = store<R>(value);
    }
    if (mean != nullptr) mean[r] = m.mean;
    if (reciprocal_deviation != nullptr) reciprocal_deviation[r] = m.scale;
  }
}

namespace detail {

/// 1 / √(mean of x² + epsilon) of one row.
template <class C, class X>
HYPERPARALLEL_EXACT C inverse_root_mean_square(extent_t n, const X* x, double epsilon) {
  HYPERPARALLEL_EXACT_BODY
  const C squares = lane_sum<C>(n, [x](extent_t i) { return static_cast<C>(load(x[i])) * static_cast<C>(load(x[i])); });
  return C(1) / std::sqrt(squares / static_cast<C>(n) + static_cast<C>(epsilon));
}

}  // namespace detail

/// x / √(mean of x² + epsilon) · weight over the trailing dims, whose extents are weight.extents; `weight.data` may be
/// null. `reciprocal_rms`, one a row, may be null.
template <class X, class W, class R, class C = computing<R>>
HYPERPARALLEL_EXACT void rms_norm(tensor_view<X> x, tensor_view<W> weight, tensor_view<R> out, double epsilon,
                                  std::type_identity_t<C>* reciprocal_rms = nullptr) {
  HYPERPARALLEL_EXACT_BODY
  const extent_t width = volume(weight);
  const extent_t rows = width == 0 ? 0 : volume(x) / width;
  for (extent_t r = 0; r < rows; ++r) {
    const X* const from = x.data + r * width;
    R* const to = out.data + r * width;
    const C scale = detail::inverse_root_mean_square<C>(width, from, epsilon);
    for (extent_t i = 0; i < width; ++i) {
      C value = static_cast<C>(load(from[i])) * scale;
      if (weight.data != nullptr) value *= static_cast<C>(load(weight.data[i]));
      to[i] = store<R>(value);
    }
    if (reciprocal_rms != nullptr) reciprocal_rms[r] = scale;
  }
}

}}}  // namespace hyperparallel::v0_2::kernels

HYPERPARALLEL_EXACT_END
