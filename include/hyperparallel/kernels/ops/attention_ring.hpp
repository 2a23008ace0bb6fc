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

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/ops/attention.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

/// o, lse, o, lse -> o, lse.
template <class T>
void attention_merge_kernel(const operator_call& c) {
  const extent_t width = c.loop[last_loop(c, c.rule->result[0])].extent;
  merge_rows(c.result_elements(1), width, operand<T>(c, 0), operand<T>(c, 1), operand<T>(c, 2), operand<T>(c, 3),
             result<T>(c, 0), result<T>(c, 1));
}

}}}}  // namespace hyperparallel::v0_2::kernels::detail

namespace hyperparallel { inline namespace v0_2 {

// A block is attention over its keys alone: o and lse of that block; its gradient takes the joined o and lse.
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::attention_block> = kernels::detail::attention_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::attention_merge> = kernels::detail::attention_merge_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::attention_block_gradient> =
    kernels::detail::attention_gradient_kernel<T>;

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
