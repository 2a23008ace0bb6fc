// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention and its gradient over a box of rows and keys; heads may share keys. integer[0] = causal, integer[1] = window,
// real[0] = scale, real[1] = cap. Laws: as attention_head.hpp, which has the arithmetic.

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/ops/attention_problem.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

/// Attention with `parts` pairs of queries and keys, then the values, as operands from 0 on -> o, lse.
template <class T>
void attend(const operator_call& c, int parts) {
  const factor_rule& rule = *c.rule;
  const tensor_factors *query[detail::most_score_parts], *key[detail::most_score_parts];
  for (int i = 0; i < parts; ++i) {
    query[i] = &rule.operand[i];
    key[i] = &rule.operand[parts + i];
  }
  static thread_local detail::attention_problem g;
  detail::read_geometry(c, parts, query, key, rule.operand[2 * parts], rule.result[0], rule.result[1], g);
  const detail::loop_steps steps[7] = {g.query[0], g.query[1], g.key[0], g.key[1], g.value, g.out, g.statistic};
  detail::for_each_point(c, g.heads, steps, [&](const extent_t(&at)[7]) {
    const T *queries[detail::most_score_parts], *keys[detail::most_score_parts];
    for (int i = 0; i < parts; ++i) {
      queries[i] = operand<T>(c, i) + at[i];
      keys[i] = operand<T>(c, parts + i) + at[2 + i];
    }
    detail::attend_head<T>(g, queries, keys, operand<T>(c, 2 * parts) + at[4], result<T>(c, 0) + at[5],
                           result<T>(c, 1) + at[6]);
  });
}

namespace detail {

/// do, queries, keys, v, o, lse -> gradients of queries, keys and v.
template <class T>
void attend_gradient(const operator_call& c, int parts) {
  const factor_rule& rule = *c.rule;
  const tensor_factors *query[most_score_parts], *key[most_score_parts];
  for (int i = 0; i < parts; ++i) {
    query[i] = &rule.operand[1 + i];
    key[i] = &rule.operand[1 + parts + i];
  }
  const int value = 1 + 2 * parts;
  static thread_local attention_problem g;
  read_geometry(c, parts, query, key, rule.operand[value], rule.operand[0], rule.operand[value + 2], g);
  for (int r = parts; r <= 2 * parts; ++r) {
    const extent_t n = c.result_elements(r);
    for (extent_t i = 0; i < n; ++i) result<T>(c, r)[i] = T(0);
  }
  const loop_steps steps[7] = {g.query[0], g.query[1], g.key[0], g.key[1], g.value, g.out, g.statistic};
  for_each_point(c, g.heads, steps, [&](const extent_t(&at)[7]) {
    detail::attention_gradient_head<T> h{};
    for (int i = 0; i < parts; ++i) {
      h.query[i] = operand<T>(c, 1 + i) + at[i];
      h.key[i] = operand<T>(c, 1 + parts + i) + at[2 + i];
      h.d_query[i] = result<T>(c, i) + at[i];
      h.d_key[i] = result<T>(c, parts + i) + at[2 + i];
    }
    h.value = operand<T>(c, value) + at[4];
    h.d_value = result<T>(c, 2 * parts) + at[4];
    h.d_out = operand<T>(c, 0) + at[5];
    h.out = operand<T>(c, value + 1) + at[5];
    h.log_sum = operand<T>(c, value + 2) + at[6];
    detail::attend_head_gradient(g, h);
  });
}

/// q, k, v -> o, lse.
template <class T>
void attention_kernel(const operator_call& c) {
  attend<T>(c, 1);
}

/// q, k, v, sink -> o, lse: attention's own, joined with a key of score `sink` and value 0.
template <class T>
void attention_with_sinks_kernel(const operator_call& c) {
  attend<T>(c, 1);
  const factor_rule& rule = *c.rule;
  const tensor_factors &out = rule.result[0], &statistic = rule.result[1];
  const int width_loop = last_loop(c, out);
  const loop_steps steps[3] = {steps_of(c, out), steps_of(c, statistic), steps_of(c, rule.operand[3])};
  for_each_point(c, loops_of(statistic), steps, [&](const extent_t(&at)[3]) {
    T& lse = result<T>(c, 1)[at[1]];
    const T sink = operand<T>(c, 3)[at[2]], most = functions::maximum::of(lse, sink);
    const T both = most + std::log(std::exp(lse - most) + std::exp(sink - most)), by = std::exp(lse - both);
    T* const row = result<T>(c, 0) + at[0];
    for (extent_t e = 0; e < c.loop[width_loop].extent; ++e) row[e] *= by;
    lse = both;
  });
}

/// do, sink, o, lse -> d sink.
template <class T>
void attention_sink_gradient_kernel(const operator_call& c) {
  const factor_rule& rule = *c.rule;
  const tensor_factors &out = rule.operand[2], &statistic = rule.operand[3];
  const int width_loop = last_loop(c, out);
  const extent_t heads = c.result_elements(0);
  for (extent_t i = 0; i < heads; ++i) result<T>(c, 0)[i] = T(0);
  const loop_steps steps[3] = {steps_of(c, out), steps_of(c, statistic), steps_of(c, rule.result[0])};
  for_each_point(c, loops_of(statistic), steps, [&](const extent_t(&at)[3]) {
    const T taken = std::exp(operand<T>(c, 1)[at[2]] - operand<T>(c, 3)[at[1]]);
    result<T>(c, 0)[at[2]] -=
        taken * dot(c.loop[width_loop].extent, operand<T>(c, 0) + at[0], operand<T>(c, 2) + at[0]);
  });
}

/// do, q, k, v, o, lse -> dq, dk, dv.
template <class T>
void attention_gradient_kernel(const operator_call& c) {
  attend_gradient<T>(c, 1);
}

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::kernels

namespace hyperparallel { inline namespace v0_2 {

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::attention> = kernels::detail::attention_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::attention_gradient> = kernels::detail::attention_gradient_kernel<T>;

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::attention_with_sinks> =
    kernels::detail::attention_with_sinks_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::attention_sink_gradient> =
    kernels::detail::attention_sink_gradient_kernel<T>;

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
