// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention over one block of the keys, and the join of two blocks: the steps of a ring.
//
//   lse = log(e^lse₁ + e^lse₂)          o = e^(lse₁ − lse)·o₁ + e^(lse₂ − lse)·o₂
//
// Laws: the block's keys stand at the box of their loop, which the mask compares; joining the blocks of any split of
// the keys, in any order, is attention over all of them up to rounding; blocks that no row sees (o = 0, lse = −∞)
// change nothing. The gradients of the blocks, taken with the joined o and lse, are those of the whole: dq their sum.
// Source: Liu, Zaharia and Abbeel, arXiv:2310.01889. The join is O(rows · width).

#include <hyperparallel/runtime/kernels/exact.hpp>
#include <hyperparallel/runtime/model_kernels/attention.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel::inline v0_2::model_kernels {

/// q, k, v of one block -> o, lse of that block alone.
template <class T>
void attention_block_kernel(const operator_call& c) {
  attend<T>(c, 1);
}

/// do, q, k, v, o, lse (joined) -> dq, dk, dv of one block.
template <class T>
void attention_block_gradient_kernel(const operator_call& c) {
  attend_gradient<T>(c, 1);
}

/// o, lse, o, lse -> o, lse.
template <class T>
void attention_merge_kernel(const operator_call& c) {
  const T *first = operand<T>(c, 0), *second = operand<T>(c, 2);
  const T *first_sum = operand<T>(c, 1), *second_sum = operand<T>(c, 3);
  T *out = result<T>(c, 0), *sum = result<T>(c, 1);
  const extent_t rows = c.result_elements(1), width = c.loop[last_loop(c, c.rule->result[0])].extent;
  for (extent_t r = 0; r < rows; ++r, first += width, second += width, out += width) {
    const T one = first_sum[r], other = second_sum[r], most = one > other ? one : other;
    if (most == -std::numeric_limits<T>::infinity()) {
      for (extent_t e = 0; e < width; ++e) out[e] = T(0);
      sum[r] = most;
      continue;
    }
    const T by_one = std::exp(one - most), by_other = std::exp(other - most), total = by_one + by_other;
    const T part_one = by_one / total, part_other = by_other / total;
    for (extent_t e = 0; e < width; ++e) out[e] = part_one * first[e] + part_other * second[e];
    sum[r] = most + std::log(total);
  }
}

}  // namespace hyperparallel::inline v0_2::model_kernels

namespace hyperparallel::inline v0_2 {

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::attention_block> = model_kernels::attention_block_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::attention_merge> = model_kernels::attention_merge_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::attention_block_gradient> =
    model_kernels::attention_block_gradient_kernel<T>;

}  // namespace hyperparallel::inline v0_2

HYPERPARALLEL_EXACT_END
