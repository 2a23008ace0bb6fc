// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolution and its gradients over dense blocks: x (batch…, channels…, positions…), weight (out channels…, channels…,
// taps…), y (batch…, out channels…, positions…).
//
//   y[b, o, p] = Σ over (c, k) of x[b, c, p · stride − padding + k] · w[o, c, k]
//
// Laws: positions outside x add nothing; dx is summed over (o, k), dw over (b, p), in rising order; none of them depends
// on another batch, out channel or channel, so any cut of these gives the same bits. O(points).

#include <hyperparallel/kernels/convolution.hpp>
#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/ops/block_steps.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

/// Sizes of one call; dims of a kind are joined.
struct convolution_sizes {
  extent_t batch = 1, channels = 1, out_channels = 1;
  convolution_loops l;
  extent_t plane() const { return l.in[0] * l.in[1] * l.in[2]; }
  extent_t taps() const { return l.kernel[0] * l.kernel[1] * l.kernel[2]; }
  extent_t places() const { return l.out[0] * l.out[1] * l.out[2]; }
};

inline convolution_sizes sizes_of_convolution(const operator_call& c, const tensor_factors& x, const tensor_factors& w,
                                              const tensor_factors& y) {
  convolution_sizes s;
  int spatial[3] = {};  // of x, w, y
  const auto add = [&](const tensor_factors& t, int which, extent_t* extent) {
    int n = 0;
    for (int d = 0; d < t.rank; ++d)
      n += has_factor(x, t.term[d]) + has_factor(w, t.term[d]) + has_factor(y, t.term[d]) == 1;
    expect(n >= 1 && n <= 3, c, "needs one to three dims of positions in each tensor");
    for (int d = 0; d < t.rank; ++d) {
      const int f = t.term[d];
      if (has_factor(x, f) + has_factor(w, f) + has_factor(y, f) > 1) continue;
      expect(d >= t.rank - n, c, "dims of positions are not the last ones");
      extent[3 - n + spatial[which]++] = c.loop[f].extent;
    }
  };
  add(x, 0, s.l.in);
  add(w, 1, s.l.kernel);
  add(y, 2, s.l.out);
  expect(spatial[0] == spatial[1] && spatial[0] == spatial[2], c, "tensors have different numbers of positions' dims");
  for (int d = 0; d < x.rank; ++d) {
    const int f = x.term[d];
    if (has_factor(y, f)) s.batch *= c.loop[f].extent;
    if (has_factor(w, f)) s.channels *= c.loop[f].extent;
  }
  for (int d = 0; d < w.rank; ++d)
    if (has_factor(y, w.term[d])) s.out_channels *= c.loop[w.term[d]].extent;
  for (int d = 3 - spatial[0]; d < 3; ++d) {
    s.l.stride[d] = c.attributes->integer[0];
    s.l.padding[d] = c.attributes->integer[1];
    expect(s.l.stride[d] >= 1 && s.l.padding[d] >= 0, c, "the stride is not positive, or the padding is negative");
    expect(s.l.out[d] == convolution_extent(s.l.in[d], s.l.kernel[d], s.l.stride[d], s.l.padding[d], 1), c,
           "the results' positions are not those of stride and padding");
  }
  return s;
}

/// Calls body(place of y, place of x, tap, count) for each tap and each row of places: place i of the run reads x
/// i · stride elements further.
template <class Body>
void for_each_row_of_taps(const convolution_loops& l, const Body& body) {
  for (extent_t z = 0; z < l.out[0]; ++z)
    for (extent_t y = 0; y < l.out[1]; ++y)
      for (extent_t kz = 0; kz < l.kernel[0]; ++kz)
        for (extent_t ky = 0; ky < l.kernel[1]; ++ky) {
          const extent_t in_z = z * l.stride[0] - l.padding[0] + kz, in_y = y * l.stride[1] - l.padding[1] + ky;
          if (in_z < 0 || in_z >= l.in[0] || in_y < 0 || in_y >= l.in[1]) continue;
          for (extent_t kx = 0; kx < l.kernel[2]; ++kx) {
            const extent_t start = kx - l.padding[2];
            const extent_t from = start < 0 ? ceil_divide(-start, l.stride[2]) : 0;
            const extent_t to = start < l.in[2] ? smaller(l.out[2], ceil_divide(l.in[2] - start, l.stride[2])) : 0;
            if (from < to)
              body((z * l.out[1] + y) * l.out[2] + from, (in_z * l.in[1] + in_y) * l.in[2] + start + from * l.stride[2],
                   (kz * l.kernel[1] + ky) * l.kernel[2] + kx, to - from);
          }
        }
}

/// x, weight -> y.
template <class T>
void convolution_kernel(const operator_call& c) {
  const detail::convolution_sizes s =
      detail::sizes_of_convolution(c, c.rule->operand[0], c.rule->operand[1], c.rule->result[0]);
  const detail::convolution_loops& l = s.l;
  const const_view<T> x{operand<T>(c, 0), {s.batch, s.channels, l.in[0], l.in[1], l.in[2]}};
  const const_view<T> weight{operand<T>(c, 1), {s.out_channels, s.channels, l.kernel[0], l.kernel[1], l.kernel[2]}};
  const tensor_view<T> y{result<T>(c, 0), {s.batch, s.out_channels, l.out[0], l.out[1], l.out[2]}};
  convolution(
      x, weight, {}, y,
      {.stride = {l.stride[0], l.stride[1], l.stride[2]}, .padding = {l.padding[0], l.padding[1], l.padding[2]}});
}

/// dy, weight -> dx.
template <class T>
void convolution_input_gradient_kernel(const operator_call& c) {
  const detail::convolution_sizes s =
      detail::sizes_of_convolution(c, c.rule->result[0], c.rule->operand[1], c.rule->operand[0]);
  const T *dy = operand<T>(c, 0), *const weight = operand<T>(c, 1);
  T* dx = result<T>(c, 0);
  for (extent_t b = 0; b < s.batch; ++b, dy += s.out_channels * s.places())
    for (extent_t ch = 0; ch < s.channels; ++ch, dx += s.plane()) {
      for (extent_t p = 0; p < s.plane(); ++p) dx[p] = T(0);
      for (extent_t o = 0; o < s.out_channels; ++o) {
        const T *const from = dy + o * s.places(), *const w = weight + (o * s.channels + ch) * s.taps();
        detail::for_each_row_of_taps(s.l, [&](extent_t out, extent_t in, extent_t tap, extent_t n) {
          for (extent_t i = 0; i < n; ++i) dx[in + i * s.l.stride[2]] += w[tap] * from[out + i];
        });
      }
    }
}

/// dy, x -> d weight.
template <class T>
void convolution_weight_gradient_kernel(const operator_call& c) {
  const detail::convolution_sizes s =
      detail::sizes_of_convolution(c, c.rule->operand[1], c.rule->result[0], c.rule->operand[0]);
  const T *const dy = operand<T>(c, 0), *const x = operand<T>(c, 1);
  T* dw = result<T>(c, 0);
  for (extent_t o = 0; o < s.out_channels; ++o)
    for (extent_t ch = 0; ch < s.channels; ++ch, dw += s.taps()) {
      for (extent_t k = 0; k < s.taps(); ++k) dw[k] = T(0);
      for (extent_t b = 0; b < s.batch; ++b) {
        const T *const d = dy + (b * s.out_channels + o) * s.places(), *const from =
                                                                           x + (b * s.channels + ch) * s.plane();
        detail::for_each_row_of_taps(s.l, [&](extent_t out, extent_t in, extent_t tap, extent_t n) {
          T sum = T(0);
          for (extent_t i = 0; i < n; ++i) sum += d[out + i] * from[in + i * s.l.stride[2]];
          dw[tap] += sum;
        });
      }
    }
}

}}}}  // namespace hyperparallel::v0_2::kernels::detail

namespace hyperparallel { inline namespace v0_2 {

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::convolution> = kernels::detail::convolution_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::convolution_input_gradient> =
    kernels::detail::convolution_input_gradient_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::convolution_weight_gradient> =
    kernels::detail::convolution_weight_gradient_kernel<T>;

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
