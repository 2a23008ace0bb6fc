// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of builtin_kernels.hpp; see support/compiled.hpp.

#include <hyperparallel/kernels/ops/attention_ring.hpp>
#include <hyperparallel/kernels/ops/builtin_kernels.hpp>
#include <hyperparallel/kernels/ops/contraction.hpp>
#include <hyperparallel/kernels/ops/convolution.hpp>
#include <hyperparallel/kernels/ops/dropout.hpp>
#include <hyperparallel/kernels/ops/elementwise.hpp>
#include <hyperparallel/kernels/ops/experts.hpp>
#include <hyperparallel/kernels/ops/indexing.hpp>
#include <hyperparallel/kernels/ops/latent_attention.hpp>
#include <hyperparallel/kernels/ops/layer_norm.hpp>
#include <hyperparallel/kernels/ops/linear_attention.hpp>
#include <hyperparallel/kernels/ops/loss.hpp>
#include <hyperparallel/kernels/ops/movement.hpp>
#include <hyperparallel/kernels/ops/normalization.hpp>
#include <hyperparallel/kernels/ops/optimizer.hpp>
#include <hyperparallel/kernels/ops/routing.hpp>
#include <hyperparallel/kernels/ops/short_convolution.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

template <class T, class List>
struct builtin_kernels;
template <class T, class... All>
struct builtin_kernels<T, boost::mp11::mp_list<All...>> {
  static constexpr operator_kernel item[] = {kernel_for<T, All>...};
};

}  // namespace detail

template <class T>
operator_kernel kernel_of(operator_id op) {
  return detail::is_builtin(op) ? detail::builtin_kernels<T, builtin_operators>::item[static_cast<int>(op)] : nullptr;
}

}}  // namespace hyperparallel::v0_2
