// SPDX-License-Identifier: Apache-2.0
#pragma once
// RMS normalisation and rotary positions.
//
//   rms_norm   y = w · x̂,  x̂ = r · x,  r = 1 / √(mean x² + ε)
//              dx = r · (w·dy − x̂ · mean(w·dy·x̂)),  dw = Σ dy · x̂
//   rope       that of kernels/rope.hpp
//
// Laws: a row depends on itself alone (and on its position in the whole sequence); dw is summed over 64 rows at a time.
// Source: Zhang and Sennrich, arXiv:1910.07467. O(elements).

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/normalization.hpp>
#include <hyperparallel/kernels/ops/elementwise.hpp>
#include <hyperparallel/kernels/rope.hpp>
#include <hyperparallel/kernels/row_arithmetic.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

/// Elements of a row of `x` that a norm is over: those of the last dim, or of the last two.
inline extent_t width_of_norm(const operator_call& c, const tensor_factors& x) {
  const extent_t width = c.loop[last_loop(c, x)].extent;
  return c.attributes->integer[0] == 0 ? width : width * c.loop[x.term[x.rank - 2]].extent;
}

/// x, weight -> y; row r has row r of the weight, which begin again behind its last.
template <class T>
void rms_norm_kernel(const operator_call& c) {
  expect_same_loops(c, 1);
  const extent_t width = detail::width_of_norm(c, c.rule->operand[0]), rows = c.result_elements(0) / width,
                 weights = c.operand_elements(1) / width;
  const T *x = operand<T>(c, 0), *const weight = operand<T>(c, 1);
  T* y = result<T>(c, 0);
  if (weights == 1) {
    const shape all(rows, width);
    return rms_norm(const_view<T>{x, all}, const_view<T>{weight, shape(width)}, tensor_view<T>{y, all},
                    c.attributes->real[0]);
  }
  const shape one(extent_t{1}, width);
  for (extent_t r = 0; r < rows; ++r, x += width, y += width)
    rms_norm(const_view<T>{x, one}, const_view<T>{weight + r % weights * width, shape(width)}, tensor_view<T>{y, one},
             c.attributes->real[0]);
}

/// dy, x, weight -> dx, d weight.
template <class T>
void rms_norm_gradient_kernel(const operator_call& c) {
  expect_same_loops(c, 2);
  const extent_t width = detail::width_of_norm(c, c.rule->operand[0]), all = c.operand_elements(2);
  const T *dy = operand<T>(c, 0), *x = operand<T>(c, 1), *weights = operand<T>(c, 2);
  T *dx = result<T>(c, 0), *d_weight = result<T>(c, 1);
  T* const parts = thread_memory<T, 0>(all);
  const extent_t rows = c.result_elements(0) / width, block = 64 * (all / width);  // 64 terms of each weight
  for (extent_t i = 0; i < all; ++i) d_weight[i] = T(0);
  for (extent_t first = 0; first < rows; first += block) {
    for (extent_t i = 0; i < all; ++i) parts[i] = T(0);
    for (extent_t r = first; r < rows && r < first + block; ++r, dy += width, x += width, dx += width) {
      const extent_t own = r * width % all;
      const T* const weight = weights + own;
      T* const part = parts + own;
      const T by = inverse_root_mean_square<T>(width, x, c.attributes->real[0]);
      const T mean =
          lane_sum<T>(width, [&](extent_t i) { return weight[i] * dy[i] * (x[i] * by); }) / static_cast<T>(width);
      for (extent_t i = 0; i < width; ++i) {
        const T d = dy[i], normal = x[i] * by;
        part[i] += d * normal;
        dx[i] = (weight[i] * d - normal * mean) * by;
      }
    }
    add_row(all, parts, d_weight);
  }
}

/// x -> x turned; the second dim is the position.
template <class T>
void rope_kernel(const operator_call& c) {
  expect_same_loops(c, 1);
  const tensor_factors& x = c.rule->operand[0];
  expect(x.rank >= 3, c, "needs dims of batch, position and pairs");
  const loop_span position = c.loop[x.term[1]];
  const extent_t width = c.loop[last_loop(c, x)].extent, outer = c.loop[x.term[0]].extent;
  expect(width % 2 == 0, c, "the last dim is odd");
  const shape s(outer, position.extent, c.result_elements(0) / (outer * position.extent * width), width);
  rope(const_view<T>{operand<T>(c, 0), s}, tensor_view<T>{result<T>(c, 0), s}, 1,
       {c.attributes->real[0], position.begin, c.attributes->integer[0] < 0});
}

}}}}  // namespace hyperparallel::v0_2::kernels::detail

namespace hyperparallel { inline namespace v0_2 {

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::rms_norm> = kernels::detail::rms_norm_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::rms_norm_gradient> = kernels::detail::rms_norm_gradient_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::rope> = kernels::detail::rope_kernel<T>;

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
