// SPDX-License-Identifier: Apache-2.0
#pragma once
// Routing of tokens to experts: softmax over the last dim, the choice of the k best, and their gradients.
//
//   softmax          y = e^(x − max) / Σ           dx = y · (dy − Σ dy · y)
//   top_k            w_j = scale · p_j             dp_j = scale · dw_j
//   normalised       w_j = scale · p_j / S         dp_j = scale · (dw_j − Σ dw · p / S) / S,  S = Σ of the chosen p
//
// Laws: rows are independent; choices stand in falling order, equal ones by rising index; a bias sways the choice alone
// (Wang et al., arXiv:2408.15664). O(rows · experts · k).

#include <cstdint>
#include <limits>

#include <hyperparallel/runtime/kernels/exact.hpp>
#include <hyperparallel/runtime/kernels/normalization.hpp>
#include <hyperparallel/runtime/kernels/row_arithmetic.hpp>
#include <hyperparallel/runtime/model_kernels/elementwise.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel::inline v0_2::kernels {

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
  T* weight = result<T>(c, 0);
  std::int32_t* index = result<std::int32_t>(c, 1);
  for (extent_t rows = c.result_elements(0) / k; rows > 0; --rows, p += width, weight += k, index += k) {
    T chosen_sum = T(0);
    for (extent_t j = 0; j < k; ++j) {
      extent_t best = -1;
      T best_key = T(0);
      for (extent_t e = 0; e < width; ++e) {
        const T key = bias == nullptr ? p[e] : p[e] + bias[e];
        if (best >= 0 && !(key > best_key)) continue;
        bool taken = false;
        for (extent_t before = 0; before < j; ++before) taken = taken || index[before] == e;
        if (taken) continue;
        best = e;
        best_key = key;
      }
      index[j] = static_cast<std::int32_t>(best);
      weight[j] = p[best];
      chosen_sum += p[best];
    }
    const T scale = static_cast<T>(c.attributes->real[0]);
    const T by = c.attributes->integer[1] != 0 ? scale / chosen_sum : scale;
    for (extent_t j = 0; j < k; ++j) weight[j] *= by;
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
  const T scale = static_cast<T>(c.attributes->real[0]);
  for (extent_t rows = c.result_elements(0) / width; rows > 0;
       --rows, d_weight += k, index += k, p += width, dp += width) {
    for (extent_t e = 0; e < width; ++e) dp[e] = T(0);
    T chosen_sum = T(0), weighted = T(0);
    for (extent_t j = 0; j < k; ++j) {
      chosen_sum += p[index[j]];
      weighted += d_weight[j] * p[index[j]];
    }
    const bool normalised = c.attributes->integer[1] != 0;
    for (extent_t j = 0; j < k; ++j)
      dp[index[j]] += normalised ? scale * (d_weight[j] - weighted / chosen_sum) / chosen_sum : scale * d_weight[j];
  }
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

}  // namespace hyperparallel::inline v0_2::kernels

namespace hyperparallel::inline v0_2 {

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::softmax> = kernels::softmax_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::softmax_gradient> = kernels::softmax_gradient_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::top_k> = kernels::top_k_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::biased_top_k> = kernels::biased_top_k_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::top_k_gradient> = kernels::top_k_gradient_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::count_experts> = kernels::count_experts_kernel<T>;

}  // namespace hyperparallel::inline v0_2

HYPERPARALLEL_EXACT_END
