// SPDX-License-Identifier: Apache-2.0
#pragma once
// Softmax, log-softmax, layer norm and RMS norm.
//
// Law: a result depends on its own row alone (the elements along the normalized dims), each sum running left to right
// in the computing type; so any split of the other dims gives bit-equal parts. Results may be the operand itself.

#include <cmath>
#include <concepts>
#include <type_traits>

#include <hyperparallel/runtime/kernels/exact.hpp>
#include <hyperparallel/runtime/kernels/reduction.hpp>
#include <hyperparallel/runtime/kernels/tensor_view.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel::inline v0_2::kernels {

namespace detail {

/// `lanes` neighbouring softmax rows of `n` elements `pitch` apart.
template <bool Logarithm, class X, class R>
HYPERPARALLEL_EXACT void softmax_lanes(extent_t n, extent_t lanes, extent_t pitch, const X* x, R* out) {
  HYPERPARALLEL_EXACT_BODY
  using C = computing<R>;
  constexpr extent_t most = 64;
  C largest[most], total[most];
  for (extent_t first = 0; first < lanes; first += most, x += most, out += most) {
    const extent_t width = smaller(most, lanes - first);
    for (extent_t l = 0; l < width; ++l) {
      largest[l] = lowest<C>;
      total[l] = C(0);
    }
    for (extent_t i = 0; i < n; ++i)
      for (extent_t l = 0; l < width; ++l)
        largest[l] = functions::maximum::of(largest[l], static_cast<C>(load(x[i * pitch + l])));
    // Powers that the result can hold unrounded are kept there; narrower results would have to round them twice.
    constexpr bool keep = !Logarithm && std::is_same_v<C, R>;
    for (extent_t i = 0; i < n; ++i)
      for (extent_t l = 0; l < width; ++l) {
        const C power = std::exp(static_cast<C>(load(x[i * pitch + l])) - largest[l]);
        if constexpr (keep) out[i * pitch + l] = power;
        total[l] += power;
      }
    if constexpr (Logarithm)
      for (extent_t l = 0; l < width; ++l) total[l] = std::log(total[l]);
    for (extent_t i = 0; i < n; ++i)
      for (extent_t l = 0; l < width; ++l) {
        const extent_t at = i * pitch + l;
        if constexpr (keep) {
          out[at] /= total[l];
        } else {
          const C shifted = static_cast<C>(load(x[at])) - largest[l];
          out[at] = store<R>(Logarithm ? shifted - total[l] : std::exp(shifted) / total[l]);
        }
      }
  }
}

template <bool Logarithm, class X, class R>
void softmax_along(tensor_view<X> x, tensor_view<R> out, int axis) {
  const axis_split s = split_at(x.extents, axis);
  for (extent_t o = 0; o < s.outer; ++o) {
    const extent_t start = o * s.middle * s.inner;
    softmax_lanes<Logarithm>(s.middle, s.inner, s.inner, static_cast<const std::remove_const_t<X>*>(x.data) + start,
                             out.data + start);
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
    C centre = C(0), squares = C(0);
    for (extent_t i = 0; i < width; ++i) centre += static_cast<C>(load(from[i]));
    centre /= static_cast<C>(width);
    for (extent_t i = 0; i < width; ++i) {
      const C away = static_cast<C>(load(from[i])) - centre;
      squares += away * away;
    }
    const C scale = C(1) / std::sqrt(squares / static_cast<C>(width) + static_cast<C>(epsilon));
    for (extent_t i = 0; i < width; ++i) {
      C value = (static_cast<C>(load(from[i])) - centre) * scale;
      if (weight.data != nullptr) value *= static_cast<C>(load(weight.data[i]));
      if (bias.data != nullptr) value += static_cast<C>(load(bias.data[i]));
      to[i] = store<R>(value);
    }
    if (mean != nullptr) mean[r] = centre;
    if (reciprocal_deviation != nullptr) reciprocal_deviation[r] = scale;
  }
}

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
    C squares = C(0);
    for (extent_t i = 0; i < width; ++i) {
      const C value = static_cast<C>(load(from[i]));
      squares += value * value;
    }
    const C scale = C(1) / std::sqrt(squares / static_cast<C>(width) + static_cast<C>(epsilon));
    for (extent_t i = 0; i < width; ++i) {
      C value = static_cast<C>(load(from[i])) * scale;
      if (weight.data != nullptr) value *= static_cast<C>(load(weight.data[i]));
      to[i] = store<R>(value);
    }
    if (reciprocal_rms != nullptr) reciprocal_rms[r] = scale;
  }
}

}  // namespace hyperparallel::inline v0_2::kernels

HYPERPARALLEL_EXACT_END
