// SPDX-License-Identifier: Apache-2.0
#pragma once
// Short convolutions and their gradients: x (batch, seq, channels…), weight (channels…, taps), y as x.
//
// Laws: taps are summed in rising order, d weight over batch and tokens in rising order; no channel depends on another. O(points).

#include <vector>

#include <hyperparallel/kernels/elementwise_functions.hpp>
#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/ops/block_steps.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

/// Sizes of one call; channels are joined.
struct short_convolution_sizes {
  extent_t batch = 1, tokens = 1, channels = 1, taps = 1;
};
inline short_convolution_sizes sizes_of_short_convolution(const operator_call& c, const tensor_factors& x,
                                                          const tensor_factors& weight) {
  expect(x.rank == weight.rank + 1, c, "the weight has not the channels of the input and its taps");
  short_convolution_sizes s;
  s.batch = c.loop[x.term[0]].extent;
  s.tokens = c.loop[x.term[1]].extent;
  for (int d = 2; d < x.rank; ++d) s.channels *= c.loop[x.term[d]].extent;
  s.taps = c.loop[last_loop(c, weight)].extent;
  return s;
}

/// What taps give at token `t` of a sequence that begins at `x`, channel by channel; `bias` is null where there is none.
template <class T>
void sum_of_taps(const short_convolution_sizes& s, const T* x, const T* weight, const T* bias, extent_t t, T* z) {
  for (extent_t ch = 0; ch < s.channels; ++ch) z[ch] = bias != nullptr ? bias[ch] : T(0);
  for (extent_t j = larger(s.taps - 1 - t, extent_t{0}); j < s.taps; ++j) {
    const T* const row = x + (t - s.taps + 1 + j) * s.channels;
    for (extent_t ch = 0; ch < s.channels; ++ch) z[ch] += weight[ch * s.taps + j] * row[ch];
  }
}

/// x, weight (, bias) -> y.
template <class T, bool Biased = false>
void short_convolution_kernel(const operator_call& c) {
  const detail::short_convolution_sizes s =
      detail::sizes_of_short_convolution(c, c.rule->operand[0], c.rule->operand[1]);
  const T *x = operand<T>(c, 0), *const weight = operand<T>(c, 1), *const bias = Biased ? operand<T>(c, 2) : nullptr;
  T* y = result<T>(c, 0);
  for (extent_t b = 0; b < s.batch; ++b, x += s.tokens * s.channels)
    for (extent_t t = 0; t < s.tokens; ++t, y += s.channels) {
      detail::sum_of_taps(s, x, weight, bias, t, y);
      for (extent_t ch = 0; ch < s.channels; ++ch) y[ch] = functions::silu::of(y[ch]);
    }
}

/// dy, x, weight (, bias) -> dx, d weight (, d bias).
template <class T, bool Biased = false>
void short_convolution_gradient_kernel(const operator_call& c) {
  const detail::short_convolution_sizes s =
      detail::sizes_of_short_convolution(c, c.rule->operand[1], c.rule->operand[2]);
  const T *dy = operand<T>(c, 0),
          *x = operand<T>(c, 1), *const weight = operand<T>(c, 2), *const bias = Biased ? operand<T>(c, 3) : nullptr;
  T *dx = result<T>(c, 0), *const dw = result<T>(c, 1);
  if constexpr (Biased)
    for (extent_t ch = 0; ch < s.channels; ++ch) result<T>(c, 2)[ch] = T(0);
  for (extent_t i = 0; i < s.channels * s.taps; ++i) dw[i] = T(0);
  static thread_local std::vector<T> slope;
  slope.assign(static_cast<std::size_t>(s.channels), T(0));
  T* const dz = slope.data();
  for (extent_t b = 0; b < s.batch; ++b, x += s.tokens * s.channels, dx += s.tokens * s.channels) {
    for (extent_t i = 0; i < s.tokens * s.channels; ++i) dx[i] = T(0);
    for (extent_t t = 0; t < s.tokens; ++t, dy += s.channels) {
      detail::sum_of_taps(s, x, weight, bias, t, dz);
      for (extent_t ch = 0; ch < s.channels; ++ch) dz[ch] = functions::silu_gradient::of(dy[ch], dz[ch]);
      if constexpr (Biased)
        for (extent_t ch = 0; ch < s.channels; ++ch) result<T>(c, 2)[ch] += dz[ch];
      for (extent_t j = larger(s.taps - 1 - t, extent_t{0}); j < s.taps; ++j) {
        const extent_t row = (t - s.taps + 1 + j) * s.channels;
        for (extent_t ch = 0; ch < s.channels; ++ch) {
          dx[row + ch] += weight[ch * s.taps + j] * dz[ch];
          dw[ch * s.taps + j] += x[row + ch] * dz[ch];
        }
      }
    }
  }
}

}}}}  // namespace hyperparallel::v0_2::kernels::detail

namespace hyperparallel { inline namespace v0_2 {

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::short_convolution> = kernels::detail::short_convolution_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::short_convolution_gradient> =
    kernels::detail::short_convolution_gradient_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::biased_short_convolution> =
    kernels::detail::short_convolution_kernel<T, true>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::biased_short_convolution_gradient> =
    kernels::detail::short_convolution_gradient_kernel<T, true>;

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
