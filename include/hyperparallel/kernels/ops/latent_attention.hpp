// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention whose scores are the sum of two products: keys of each head, and rotary keys that all heads share.
//
//   o = softmax(scale · (q·kᵀ + qr·krᵀ) + mask) · v
//
// Law: the gradient of the shared keys is the sum over the heads of the box, so it is a part where heads are cut.
// Source: DeepSeek-V2, arXiv:2405.04434, §2.1. Work and memory as attention with depth D + R.

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/ops/attention.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

/// q, qr, k, kr, v -> o, lse.
template <class T>
void latent_attention_kernel(const operator_call& c) {
  attend<T>(c, 2);
}

/// do, q, qr, k, kr, v, o, lse -> dq, dqr, dk, dkr, dv.
template <class T>
void latent_attention_gradient_kernel(const operator_call& c) {
  attend_gradient<T>(c, 2);
}

}}}}  // namespace hyperparallel::v0_2::kernels::detail

namespace hyperparallel { inline namespace v0_2 {

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::latent_attention> = kernels::detail::latent_attention_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::latent_attention_gradient> =
    kernels::detail::latent_attention_gradient_kernel<T>;

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
