// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of model_kernels.hpp; see support/compiled.hpp.

#include <hyperparallel/runtime/model_kernels/attention_ring.hpp>
#include <hyperparallel/runtime/model_kernels/contraction.hpp>
#include <hyperparallel/runtime/model_kernels/elementwise.hpp>
#include <hyperparallel/runtime/model_kernels/experts.hpp>
#include <hyperparallel/runtime/model_kernels/indexing.hpp>
#include <hyperparallel/runtime/model_kernels/latent_attention.hpp>
#include <hyperparallel/runtime/model_kernels/loss.hpp>
#include <hyperparallel/runtime/model_kernels/model_kernels.hpp>
#include <hyperparallel/runtime/model_kernels/normalization.hpp>
#include <hyperparallel/runtime/model_kernels/optimizer.hpp>
#include <hyperparallel/runtime/model_kernels/routing.hpp>

namespace hyperparallel::inline v0_2 {

template <class T>
operator_kernel kernel_of(model_op op) {
  using namespace model_kernels;
  switch (op) {
    case model_op::contract:
      return contract_kernel<T>;
    case model_op::reduce:
      return reduce_kernel<T>;
    case model_op::broadcast:
      return broadcast_kernel<T>;
    case model_op::sum:
      return sum_kernel<T>;
    case model_op::scale:
      return scale_kernel<T>;
    case model_op::multiply:
      return multiply_kernel<T>;
    case model_op::embed:
      return embed_kernel<T>;
    case model_op::embed_gradient:
      return embed_gradient_kernel<T>;
    case model_op::rms_norm:
      return rms_norm_kernel<T>;
    case model_op::rms_norm_gradient:
      return rms_norm_gradient_kernel<T>;
    case model_op::rope:
      return rope_kernel<T>;
    case model_op::attention:
      return attention_kernel<T>;
    case model_op::attention_gradient:
      return attention_gradient_kernel<T>;
    case model_op::latent_attention:
      return latent_attention_kernel<T>;
    case model_op::latent_attention_gradient:
      return latent_attention_gradient_kernel<T>;
    case model_op::attention_block:
      return attention_block_kernel<T>;
    case model_op::attention_merge:
      return attention_merge_kernel<T>;
    case model_op::attention_block_gradient:
      return attention_block_gradient_kernel<T>;
    case model_op::swiglu:
      return swiglu_kernel<T>;
    case model_op::swiglu_gradient:
      return swiglu_gradient_kernel<T>;
    case model_op::silu:
      return silu_kernel<T>;
    case model_op::silu_gradient:
      return silu_gradient_kernel<T>;
    case model_op::sigmoid:
      return sigmoid_kernel<T>;
    case model_op::sigmoid_gradient:
      return sigmoid_gradient_kernel<T>;
    case model_op::softmax:
      return softmax_kernel<T>;
    case model_op::softmax_gradient:
      return softmax_gradient_kernel<T>;
    case model_op::top_k:
      return top_k_kernel<T>;
    case model_op::biased_top_k:
      return biased_top_k_kernel<T>;
    case model_op::top_k_gradient:
      return top_k_gradient_kernel<T>;
    case model_op::count_experts:
      return count_experts_kernel<T>;
    case model_op::dispatch:
      return dispatch_kernel<T>;
    case model_op::undispatch:
      return undispatch_kernel<T>;
    case model_op::combine:
      return combine_kernel<T>;
    case model_op::dispatch_weighted:
      return dispatch_weighted_kernel<T>;
    case model_op::combine_weight_gradient:
      return combine_weight_gradient_kernel<T>;
    case model_op::exp_sum:
      return exp_sum_kernel<T>;
    case model_op::pick:
      return pick_kernel<T>;
    case model_op::token_loss:
      return token_loss_kernel<T>;
    case model_op::cross_entropy_gradient:
      return cross_entropy_gradient_kernel<T>;
    case model_op::sum_of_squares:
      return sum_of_squares_kernel<T>;
    case model_op::clip_factor:
      return clip_factor_kernel<T>;
    case model_op::fill:
      return fill_kernel<T>;
    case model_op::accumulate:
      return accumulate_kernel<T>;
    case model_op::sgd:
      return sgd_kernel<T>;
    case model_op::adamw:
      return adamw_kernel<T>;
    case model_op::adamw_master:
      return adamw_master_kernel<T>;
    case model_op::muon:
      return muon_kernel<T>;
    case model_op::update_bias:
      return update_bias_kernel<T>;
  }
  return nullptr;
}

}  // namespace hyperparallel::inline v0_2
