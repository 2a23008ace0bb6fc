// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loss of a row of logits from its parts, its gradient, reductions, means and fills.
//
//   loss = log Σ e^(x − max) + max − x[label]          dx = d loss · (e^(x − max) / Σ − [column = label])
//
// Laws: the maximum, the sum and the pick are reductions over the columns, so each may be joined from boxes; a negative
// label gives loss and gradient 0. `reduce` adds in double, 256 terms at a time, in the order of the operand's loops.
// O(elements).

#include <cstdint>

#include <hyperparallel/kernels/cross_entropy.hpp>
#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/ops/block_steps.hpp>
#include <hyperparallel/kernels/row_arithmetic.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

/// x, max -> Σ e^(x − max) over the last dim.
template <class T>
void exp_sum_kernel(const operator_call& c) {
  const extent_t width = c.loop[last_loop(c, c.rule->operand[0])].extent, n = c.result_elements(0);
  row_sum_exp(const_view<T>{operand<T>(c, 0), shape(n, width)}, const_view<T>{operand<T>(c, 1), shape(n)},
              tensor_view<T>{result<T>(c, 0), shape(n)});
}

/// max, exp sum, picked, label -> loss.
template <class T>
void token_loss_kernel(const operator_call& c) {
  const T *most = operand<T>(c, 0), *total = operand<T>(c, 1), *picked = operand<T>(c, 2);
  const std::int32_t* const label = operand<std::int32_t>(c, 3);
  T* const to = result<T>(c, 0);
  const extent_t n = c.result_elements(0);
  for (extent_t i = 0; i < n; ++i) to[i] = label[i] < 0 ? T(0) : std::log(total[i]) + (most[i] - picked[i]);
}

/// d loss, x, max, exp sum, label -> dx.
template <class T>
void cross_entropy_gradient_kernel(const operator_call& c) {
  const loop_span columns = c.loop[last_loop(c, c.rule->operand[1])];
  const T *d_loss = operand<T>(c, 0), *x = operand<T>(c, 1), *most = operand<T>(c, 2), *total = operand<T>(c, 3);
  const std::int32_t* const label = operand<std::int32_t>(c, 4);
  T* dx = result<T>(c, 0);
  const extent_t width = columns.extent, n = c.result_elements(0) / width;
  for (extent_t r = 0; r < n; ++r, x += width, dx += width) {
    const T d = label[r] < 0 ? T(0) : d_loss[r], by = d / total[r];
    for (extent_t i = 0; i < width; ++i) dx[i] = label[r] < 0 ? T(0) : by * std::exp(x[i] - most[r]);
    const extent_t column = label[r] - columns.begin;
    if (label[r] >= 0 && column >= 0 && column < width) dx[column] -= d;
  }
}

/// Sum or maximum over what the result lacks.
template <class T>
void reduce_kernel(const operator_call& c) {
  const tensor_factors &x = c.rule->operand[0], &r = c.rule->result[0];
  const bool maximum = c.attributes->reduction == reduce_op::max;
  expect(maximum || c.attributes->reduction == reduce_op::sum, c, "only sums and maxima are known");
  static thread_local std::vector<extent_t> term, from, to;
  offsets_of(c, loops_of(x, {}, {&r}), steps_of(c, x), term);
  offsets_of(c, loops_of(r), steps_of(c, x), from);
  offsets_of(c, loops_of(r), steps_of(c, r), to);
  const T* const in = operand<T>(c, 0);
  T* const out = result<T>(c, 0);
  constexpr std::size_t strip = 16, block = 256;
  const std::size_t terms = term.size(), n = to.size();
  for (std::size_t first = 0; first < n; first += strip) {
    const std::size_t count = n - first < strip ? n - first : strip;
    double total[strip] = {};
    for (std::size_t p = 0; p < terms; p += block) {
      const std::size_t end = terms - p < block ? terms : p + block;
      double part[strip];
      for (std::size_t i = 0; i < count; ++i)
        part[i] = maximum ? static_cast<double>(in[from[first + i] + term[p]]) : 0;
      for (std::size_t q = p; q < end; ++q)
        for (std::size_t i = 0; i < count; ++i) {
          const double value = static_cast<double>(in[from[first + i] + term[q]]);
          part[i] = maximum ? functions::maximum::of(part[i], value) : part[i] + value;
        }
      for (std::size_t i = 0; i < count; ++i)
        total[i] = p == 0 ? part[i] : maximum ? functions::maximum::of(total[i], part[i]) : total[i] + part[i];
    }
    for (std::size_t i = 0; i < count; ++i) out[to[first + i]] = static_cast<T>(total[i]);
  }
}

/// The sum over what the result lacks, divided once by how many elements that is in the whole tensor.
template <class T>
void mean_kernel(const operator_call& c) {
  const tensor_factors &x = c.rule->operand[0], &r = c.rule->result[0];
  expect(c.attributes->reduction == reduce_op::sum, c, "a mean knows no other reduction than the sum");
  const T count = static_cast<T>(whole_points_of(c, loops_of(x, {}, {&r})));
  reduce_kernel<T>(c);
  T* const out = result<T>(c, 0);
  const extent_t n = c.result_elements(0);
  for (extent_t i = 0; i < n; ++i) out[i] /= count;
}

/// -> real[0] everywhere.
template <class T>
void fill_kernel(const operator_call& c) {
  T* const to = result<T>(c, 0);
  const extent_t n = c.result_elements(0);
  for (extent_t i = 0; i < n; ++i) to[i] = static_cast<T>(c.attributes->real[0]);
}

}}}}  // namespace hyperparallel::v0_2::kernels::detail

namespace hyperparallel { inline namespace v0_2 {

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::reduce> = kernels::detail::reduce_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::mean> = kernels::detail::mean_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::exp_sum> = kernels::detail::exp_sum_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::token_loss> = kernels::detail::token_loss_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::cross_entropy_gradient> =
    kernels::detail::cross_entropy_gradient_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::fill> = kernels::detail::fill_kernel<T>;

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
