// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernel of each model operator.
//
// Laws: every operator has one; a kernel works on the calling thread, in an order that its box alone fixes, so the same
// box gives the same bits on any thread and any number of them. Floating operands and results are of type T, numbers of
// rows, labels and experts std::int32_t.

#include <hyperparallel/kernels/operator_call.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// T is float or double.
template <class T>
operator_kernel kernel_of(operator_id op);

}}  // namespace hyperparallel::v0_2

#ifdef HYPERPARALLEL_COMPILED
namespace hyperparallel { inline namespace v0_2 {

extern template operator_kernel kernel_of<float>(operator_id);
extern template operator_kernel kernel_of<double>(operator_id);

}}  // namespace hyperparallel::v0_2
#else
#include <hyperparallel/kernels/ops/builtin_kernels.ipp>
#endif
