// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layer norm and group norm, and their gradient.
//
//   y = w · x̂ + b,  x̂ = r · (x − mean),  r = 1 / √(variance + ε)
//   dx = r · (w·dy − mean(w·dy) − x̂ · mean(w·dy·x̂)),  dw = Σ dy · x̂,  db = Σ dy
//
// A row is what is normalised: the channels of a group, each at all its positions, side by side; of a layer norm there
// is one position and one group. Laws: a row depends on itself alone; dw and db are summed over 64 rows at a time.
// O(elements).

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/normalization.hpp>
#include <hyperparallel/kernels/ops/block_steps.hpp>
#include <hyperparallel/kernels/row_arithmetic.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

/// Rows of `groups` groups follow each other, each of `channels` channels at `positions` places.
struct norm_rows {
  extent_t rows, groups, channels, positions;
  extent_t width() const { return channels * positions; }
};

/// x has the dims of the rows, then the weight's channels, then positions; the weight has groups, if any, and channels.
inline norm_rows rows_of_norm(const operator_call& c, const tensor_factors& x, const tensor_factors& weight) {
  expect(weight.rank == 1 || weight.rank == 2, c, "the weight is not of channels, or groups and channels");
  const int channel = last_loop(c, weight);
  int at = 0;
  while (at < x.rank && x.term[at] != channel) ++at;
  expect(at < x.rank && (weight.rank == 1 || (at > 0 && x.term[at - 1] == weight.term[0])), c,
         "channels do not follow their group");
  norm_rows n{1, weight.rank == 2 ? c.loop[weight.term[0]].extent : 1, c.loop[channel].extent, 1};
  for (int d = 0; d < x.rank; ++d)
    (d < at ? n.rows : d > at ? n.positions : n.groups) *= d == at ? 1 : c.loop[x.term[d]].extent;
  return n;
}

/// x, weight, bias -> y.
template <class T>
void norm_kernel(const operator_call& c) {
  const detail::norm_rows n = detail::rows_of_norm(c, c.rule->operand[0], c.rule->operand[1]);
  const T *x = operand<T>(c, 0), *weight = operand<T>(c, 1), *bias = operand<T>(c, 2);
  T* y = result<T>(c, 0);
  for (extent_t r = 0; r < n.rows; ++r, x += n.width(), y += n.width()) {
    const row_moments<T> m = moments_of<T>(n.width(), x, c.attributes->real[0]);
    const extent_t first = r % n.groups * n.channels;
    for (extent_t i = 0; i < n.width(); ++i) {
      const extent_t channel = first + i / n.positions;
      y[i] = (x[i] - m.mean) * m.scale * weight[channel] + bias[channel];
    }
  }
}

/// dy, x, weight -> dx, d weight, d bias.
template <class T>
void norm_gradient_kernel(const operator_call& c) {
  const detail::norm_rows n = detail::rows_of_norm(c, c.rule->operand[1], c.rule->operand[2]);
  const T *dy = operand<T>(c, 0), *x = operand<T>(c, 1), *weight = operand<T>(c, 2);
  T *dx = result<T>(c, 0), *d_weight = result<T>(c, 1), *d_bias = result<T>(c, 2);
  const extent_t channels = n.groups * n.channels, width = n.width(), block = 64 * n.groups;
  T *const part = thread_memory<T, 0>(2 * channels), *const part_of_bias = part + channels;
  for (extent_t i = 0; i < channels; ++i) d_weight[i] = d_bias[i] = T(0);
  for (extent_t start = 0; start < n.rows; start += block) {
    for (extent_t i = 0; i < 2 * channels; ++i) part[i] = T(0);
    for (extent_t r = start; r < n.rows && r < start + block; ++r, dy += width, x += width, dx += width) {
      const row_moments<T> m = moments_of<T>(width, x, c.attributes->real[0]);
      const extent_t first = r % n.groups * n.channels;
      const auto through = [&](extent_t i) { return weight[first + i / n.positions] * dy[i]; };
      const auto normal = [&](extent_t i) { return (x[i] - m.mean) * m.scale; };
      const T mean = lane_sum<T>(width, through) / static_cast<T>(width);
      const T along = lane_sum<T>(width, [&](extent_t i) { return through(i) * normal(i); }) / static_cast<T>(width);
      for (extent_t i = 0; i < width; ++i) {
        part[first + i / n.positions] += dy[i] * normal(i);
        part_of_bias[first + i / n.positions] += dy[i];
        dx[i] = (through(i) - mean - normal(i) * along) * m.scale;
      }
    }
    add_row(channels, part, d_weight);
    add_row(channels, part_of_bias, d_bias);
  }
}

}}}}  // namespace hyperparallel::v0_2::kernels::detail

namespace hyperparallel { inline namespace v0_2 {

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::layer_norm> = kernels::detail::norm_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::layer_norm_gradient> = kernels::detail::norm_gradient_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::group_norm> = kernels::detail::norm_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::group_norm_gradient> = kernels::detail::norm_gradient_kernel<T>;

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
