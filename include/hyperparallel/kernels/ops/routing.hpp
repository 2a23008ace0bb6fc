// SPDX-License-Identifier: Apache-2.0
#pragma once
// Routing of tokens to experts: softmax over the last dim, the choice of the k best, and their gradients.
//
//   softmax          y = e^(x − max) / Σ           dx = y · (dy − Σ dy · y)
//   top_k            the choice of kernels/choice.hpp
//
// Laws: rows are independent; a bias sways the choice alone (Wang et al., arXiv:2408.15664). O(rows · experts · k).

#include <cstdint>
#include <limits>

#include <hyperparallel/kernels/choice.hpp>
#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/normalization.hpp>
#include <hyperparallel/kernels/ops/elementwise.hpp>
#include <hyperparallel/kernels/row_arithmetic.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

template <class T>
void softmax_kernel(const operator_call& c) {
  expect_same_loops(c, 1);
  const extent_t width = c.loop[last_loop(c, c.rule->operand[0])].extent;
  const shape rows(c.result_elements(0) / width, width);
  softmax(const_view<T>{operand<T>(c, 0), rows}, tensor_view<T>{result<T>(c, 0), rows}, 1);
}

/// dy, y -> dx.
template <class T>
void softmax_gradient_kernel(const operator_call& c) {
  expect_same_loops(c, 2);
  const extent_t width = c.loop[last_loop(c, c.rule->operand[0])].extent;
  const T *dy = operand<T>(c, 0), *y = operand<T>(c, 1);
  T* dx = result<T>(c, 0);
  for (extent_t rows = c.result_elements(0) / width; rows > 0; --rows, dy += width, y += width, dx += width) {
    const T mean = dot(width, dy, y);
    for (extent_t i = 0; i < width; ++i) dx[i] = y[i] * (dy[i] - mean);
  }
}

/// Chooses k of `width` by p + bias (bias may be null) and weighs them by p.
template <class T>
void choose_best(const operator_call& c, const T* p, const T* bias) {
  const extent_t width = c.loop[last_loop(c, c.rule->operand[0])].extent;
  const extent_t k = c.loop[last_loop(c, c.rule->result[0])].extent;
  expect(k <= width, c, "more experts are to be chosen than there are");
  T *weight = result<T>(c, 0), *const swayed = thread_memory<T, 0>(width);
  std::int32_t* index = result<std::int32_t>(c, 1);
  for (extent_t rows = c.result_elements(0) / k; rows > 0; --rows, p += width, weight += k, index += k) {
    for (extent_t e = 0; bias != nullptr && e < width; ++e) swayed[e] = p[e] + bias[e];
    top_k(width, k, bias == nullptr ? p : swayed, index, weight);
    weigh_choice(k, p, index, c.attributes->integer[1] != 0, static_cast<T>(c.attributes->real[0]), weight);
  }
}

/// p -> weight, index.
template <class T>
void top_k_kernel(const operator_call& c) {
  choose_best<T>(c, operand<T>(c, 0), nullptr);
}

/// p, bias -> weight, index.
template <class T>
void biased_top_k_kernel(const operator_call& c) {
  choose_best<T>(c, operand<T>(c, 0), operand<T>(c, 1));
}

/// d weight, p, index -> dp.
template <class T>
void top_k_gradient_kernel(const operator_call& c) {
  const extent_t k = c.loop[last_loop(c, c.rule->operand[0])].extent;
  const extent_t width = c.loop[last_loop(c, c.rule->result[0])].extent;
  const T *d_weight = operand<T>(c, 0), *p = operand<T>(c, 1);
  const std::int32_t* index = operand<std::int32_t>(c, 2);
  T* dp = result<T>(c, 0);
  for (extent_t rows = c.result_elements(0) / width; rows > 0;
       --rows, d_weight += k, index += k, p += width, dp += width)
    choice_gradient(width, k, d_weight, p, index, c.attributes->integer[1] != 0, static_cast<T>(c.attributes->real[0]),
                    dp);
}

/// index -> how often each expert of the box was chosen.
template <class T>
void count_experts_kernel(const operator_call& c) {
  const loop_span experts = c.loop[last_loop(c, c.rule->result[0])];
  const std::int32_t* const index = operand<std::int32_t>(c, 0);
  T* const count = result<T>(c, 0);
  for (extent_t e = 0; e < experts.extent; ++e) count[e] = T(0);
  const extent_t n = c.operand_elements(0);
  for (extent_t i = 0; i < n; ++i) {
    const extent_t e = index[i] - experts.begin;
    if (e >= 0 && e < experts.extent) count[e] += T(1);
  }
}

}}}}  // namespace hyperparallel::v0_2::kernels::detail

namespace hyperparallel { inline namespace v0_2 {

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::softmax> = kernels::detail::softmax_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::softmax_gradient> = kernels::detail::softmax_gradient_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::top_k> = kernels::detail::top_k_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::biased_top_k> = kernels::detail::biased_top_k_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::top_k_gradient> = kernels::detail::top_k_gradient_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::count_experts> = kernels::detail::count_experts_kernel<T>;

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
