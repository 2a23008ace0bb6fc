// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of model_kernels.hpp; see support/compiled.hpp.

#include <hyperparallel/runtime/model_kernels/attention_ring.hpp>
#include <hyperparallel/runtime/model_kernels/contraction.hpp>
#include <hyperparallel/runtime/model_kernels/convolution.hpp>
#include <hyperparallel/runtime/model_kernels/dropout.hpp>
#include <hyperparallel/runtime/model_kernels/elementwise.hpp>
#include <hyperparallel/runtime/model_kernels/experts.hpp>
#include <hyperparallel/runtime/model_kernels/indexing.hpp>
#include <hyperparallel/runtime/model_kernels/latent_attention.hpp>
#include <hyperparallel/runtime/model_kernels/layer_norm.hpp>
#include <hyperparallel/runtime/model_kernels/loss.hpp>
#include <hyperparallel/runtime/model_kernels/model_kernels.hpp>
#include <hyperparallel/runtime/model_kernels/normalization.hpp>
#include <hyperparallel/runtime/model_kernels/optimizer.hpp>
#include <hyperparallel/runtime/model_kernels/routing.hpp>

namespace hyperparallel::inline v0_2 {

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
  return is_builtin(op) ? detail::builtin_kernels<T, builtin_operators>::item[static_cast<int>(op)] : nullptr;
}

}  // namespace hyperparallel::inline v0_2
