// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs and moves on simulated ranks. Those who use them include by name: worlds of one MoE layer
// (runtime/moe_world.hpp, runtime/moe_training_world.hpp, runtime/one_sided.hpp), memory tiers by hand
// (runtime/offload_session.hpp, runtime/saved_tensors.hpp), optional back ends (runtime/eigen_kernels.hpp).

#include <hyperparallel/runtime/arena.hpp>
#include <hyperparallel/runtime/check_operator.hpp>
#include <hyperparallel/runtime/copy_boxes.hpp>
#include <hyperparallel/runtime/element_type.hpp>
#include <hyperparallel/runtime/executor.hpp>
#include <hyperparallel/runtime/kernels/accumulate.hpp>
#include <hyperparallel/runtime/kernels/choice.hpp>
#include <hyperparallel/runtime/kernels/gemm.hpp>
#include <hyperparallel/runtime/kernels/keyed_random.hpp>
#include <hyperparallel/runtime/kernels/row_products.hpp>
#include <hyperparallel/runtime/kernels/swiglu.hpp>
#include <hyperparallel/runtime/kernels/swiglu_gradient.hpp>
#include <hyperparallel/runtime/kernels/transposed_gemm.hpp>
#include <hyperparallel/runtime/memory_budget.hpp>
#include <hyperparallel/runtime/model_kernels/model_kernels.hpp>
#include <hyperparallel/runtime/model_kernels/single_device.hpp>
#include <hyperparallel/runtime/model_run.hpp>
#include <hyperparallel/runtime/operator_kernels.hpp>
#include <hyperparallel/runtime/program_world.hpp>
#include <hyperparallel/runtime/redistribute.hpp>
#include <hyperparallel/runtime/world.hpp>
