// SPDX-License-Identifier: Apache-2.0
#pragma once
// Linear attention and its gradient over a box of batches and heads, whose sequences are whole.
//
// Laws: heads and batches do not depend on each other, but for gradients of queries and keys, which are summed over the heads that share
// them in rising order. The arithmetic: linear_attention_head.hpp. O(points).

#include <algorithm>
#include <vector>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/linear_attention_head.hpp>
#include <hyperparallel/kernels/ops/block_steps.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

/// The loops of decays but that of tokens.
inline loop_list heads_of(const tensor_factors& decay, int token) {
  loop_list heads;
  for (int d = 0; d < decay.rank; ++d)
    if (decay.term[d] != token) heads.push(decay.term[d]);
  return heads;
}

/// Of a call whose operands from `first` on are q, k, v, decay, strength.
inline linear_attention_form form_of(const operator_call& c, int first) {
  const factor_rule& rule = *c.rule;
  const tensor_factors &query = rule.operand[first], &value = rule.operand[first + 2];
  expect(query.rank >= 3 && value.rank >= 3, c, "needs dims of batch, tokens and widths");
  return {c.attributes->integer[0] != 0,
          c.attributes->real[0],
          c.attributes->real[1],
          c.loop[query.term[1]].extent,
          c.loop[last_loop(c, query)].extent,
          c.loop[last_loop(c, value)].extent};
}

/// q, k, v, decay, strength -> o.
template <class T>
void linear_attention_kernel(const operator_call& c) {
  const factor_rule& rule = *c.rule;
  detail::linear_attention_head<T> head{detail::form_of(c, 0)};
  const int token = rule.operand[0].term[1];
  loop_steps steps[6];
  for (int i = 0; i < 5; ++i) steps[i] = steps_of(c, rule.operand[i]);
  steps[5] = steps_of(c, rule.result[0]);
  static thread_local std::vector<T> memory;
  for_each_point(c, detail::heads_of(rule.operand[3], token), steps, [&](const extent_t(&at)[6]) {
    const auto rows = [&](int i) { return detail::head_rows<const T>{operand<T>(c, i) + at[i], steps[i].of[token]}; };
    head.query = rows(0);
    head.key = rows(1);
    head.value = rows(2);
    head.decay = rows(3);
    head.strength = rows(4);
    head.forward({result<T>(c, 0) + at[5], steps[5].of[token]}, memory);
  });
}

/// do, q, k, v, decay, strength -> dq, dk, dv, d decay, d strength.
template <class T>
void linear_attention_gradient_kernel(const operator_call& c) {
  const factor_rule& rule = *c.rule;
  detail::linear_attention_gradient_head<T> head;
  head.f = detail::form_of(c, 1);
  const int token = rule.operand[1].term[1];
  loop_steps steps[11];
  for (int i = 0; i < 6; ++i) steps[i] = steps_of(c, rule.operand[i]);
  for (int i = 0; i < 5; ++i) steps[6 + i] = steps_of(c, rule.result[i]);
  for (int r = 0; r < 2; ++r) std::fill_n(result<T>(c, r), c.result_elements(r), T(0));
  static thread_local std::vector<T> memory;
  for_each_point(c, detail::heads_of(rule.operand[4], token), steps, [&](const extent_t(&at)[11]) {
    const auto rows = [&](int i) { return detail::head_rows<const T>{operand<T>(c, i) + at[i], steps[i].of[token]}; };
    const auto gradients = [&](int i) {
      return detail::head_rows<T>{result<T>(c, i) + at[6 + i], steps[6 + i].of[token]};
    };
    head.d_out = rows(0);
    head.query = rows(1);
    head.key = rows(2);
    head.value = rows(3);
    head.decay = rows(4);
    head.strength = rows(5);
    head.d_query = gradients(0);
    head.d_key = gradients(1);
    head.d_value = gradients(2);
    head.d_decay = gradients(3);
    head.d_strength = gradients(4);
    head.backward(memory);
  });
}

}}}}  // namespace hyperparallel::v0_2::kernels::detail

namespace hyperparallel { inline namespace v0_2 {

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::linear_attention> = kernels::detail::linear_attention_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::linear_attention_gradient> =
    kernels::detail::linear_attention_gradient_kernel<T>;

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
