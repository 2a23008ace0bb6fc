// SPDX-License-Identifier: Apache-2.0
#pragma once
// Direct convolution in one, two or three spatial dims, channels first.
//
// x is [batch, channels, spatial…], weight [out channels, channels / groups, kernel…], out [batch, out channels,
// spatial…]. Law: an output element is the sum over (channel, kernel position), in row-major order, of single-rounded
// products, then plus the bias; positions outside x add nothing. Integers are exact. So a device that holds a slice of
// the batch, the out channels or the outputs (with the inputs that they read, and `padding` where x really ends) gets
// the whole's bits, and slices of the channels give partial sums.

#include <type_traits>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

/// Per spatial dim, in order. `padding` is before the first element; out's extents say how much follows the last.
struct convolution_options {
  extent_t stride[3] = {1, 1, 1};
  extent_t padding[3] = {0, 0, 0};
  extent_t dilation[3] = {1, 1, 1};
  extent_t groups = 1;
};

namespace detail {

/// Outputs along a dim of `extent` elements and `padding` on both sides.
constexpr extent_t convolution_extent(extent_t extent, extent_t kernel, extent_t stride, extent_t padding,
                                      extent_t dilation) {
  const extent_t last = extent + 2 * padding - dilation * (kernel - 1) - 1;
  return last < 0 ? 0 : last / stride + 1;
}

/// A convolution as one of three spatial dims; missing ones have extent 1 and come first.
struct convolution_loops {
  extent_t in[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  extent_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
};

constexpr convolution_loops convolution_loops_of(const shape& x, const shape& weight, const shape& out,
                                                 const convolution_options& o) {
  convolution_loops l;
  const int dims = x.rank - 2;
  for (int d = 0; d < dims; ++d) {
    const int at = 3 - dims + d;
    l.in[at] = x.extent[2 + d];
    l.kernel[at] = weight.extent[2 + d];
    l.out[at] = out.extent[2 + d];
    l.stride[at] = o.stride[d];
    l.padding[at] = o.padding[d];
    l.dilation[at] = o.dilation[d];
  }
  return l;
}

/// Outputs [first, first + lanes) of row (z, y) of one output channel, from `channels` planes of x.
template <class X, class W, class C>
HYPERPARALLEL_EXACT void convolve_row(const convolution_loops& l, extent_t channels, const X* x, const W* weight,
                                      extent_t z, extent_t y, extent_t first, extent_t lanes, C* sum) {
  HYPERPARALLEL_EXACT_BODY
  for (extent_t i = 0; i < lanes; ++i) sum[i] = C{};
  for (extent_t c = 0; c < channels; ++c)
    for (extent_t kz = 0; kz < l.kernel[0]; ++kz)
      for (extent_t ky = 0; ky < l.kernel[1]; ++ky) {
        const extent_t in_z = z * l.stride[0] - l.padding[0] + kz * l.dilation[0];
        const extent_t in_y = y * l.stride[1] - l.padding[1] + ky * l.dilation[1];
        if (in_z < 0 || in_z >= l.in[0] || in_y < 0 || in_y >= l.in[1]) continue;
        const X* const row = x + ((c * l.in[0] + in_z) * l.in[1] + in_y) * l.in[2];
        const W* const taps = weight + ((c * l.kernel[0] + kz) * l.kernel[1] + ky) * l.kernel[2];
        for (extent_t kx = 0; kx < l.kernel[2]; ++kx) {
          const C by = static_cast<C>(load(taps[kx]));
          // Lane i reads row[start + i · stride]; the lanes from `from` to `to` read inside the row.
          const extent_t step = l.stride[2], start = first * step - l.padding[2] + kx * l.dilation[2];
          const extent_t from = smaller(lanes, start < 0 ? ceil_divide(-start, step) : 0);
          const extent_t to = start < l.in[2] ? smaller(lanes, ceil_divide(l.in[2] - start, step)) : 0;
          for (extent_t i = from; i < to; ++i)
            sum[i] = static_cast<C>(sum[i] + by * static_cast<C>(load(row[start + i * step])));
        }
      }
}

}  // namespace detail

/// `bias`, one an output channel, may have null data. Domain: 1 to 3 spatial dims; strides and dilations ≥ 1; groups
/// divide channels and out channels.
template <class X, class W, class R>
void convolution(tensor_view<X> x, tensor_view<W> weight, std::type_identity_t<const_view<W>> bias, tensor_view<R> out,
                 const convolution_options& options = {}) {
  using C = computing<R>;
  const detail::convolution_loops l = detail::convolution_loops_of(x.extents, weight.extents, out.extents, options);
  const extent_t channels = weight.extents.extent[1], out_channels = weight.extents.extent[0];
  const extent_t plane = l.in[0] * l.in[1] * l.in[2], taps = channels * l.kernel[0] * l.kernel[1] * l.kernel[2];
  const std::remove_const_t<X>* const from = x.data;
  const std::remove_const_t<W>* const by = weight.data;
  constexpr extent_t most = 64;
  C sum[most];
  R* to = out.data;
  for (extent_t n = 0; n < out.extents.extent[0]; ++n)
    for (extent_t o = 0; o < out_channels; ++o) {
      const extent_t group = o / (out_channels / options.groups);
      const C shift = bias.data == nullptr ? C{} : static_cast<C>(load(bias.data[o]));
      for (extent_t z = 0; z < l.out[0]; ++z)
        for (extent_t y = 0; y < l.out[1]; ++y)
          for (extent_t first = 0; first < l.out[2]; first += most) {
            const extent_t lanes = smaller(most, l.out[2] - first);
            detail::convolve_row(l, channels, from + (n * options.groups + group) * channels * plane, by + o * taps, z,
                                 y, first, lanes, sum);
            for (extent_t i = 0; i < lanes; ++i)
              *to++ = store<R>(bias.data == nullptr ? sum[i] : static_cast<C>(sum[i] + shift));
          }
    }
}

}}}  // namespace hyperparallel::v0_2::kernels

HYPERPARALLEL_EXACT_END
