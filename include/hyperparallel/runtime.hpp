// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs and moves on simulated ranks. Those who use them include by name: memory tiers by hand
// (tiers/offload_session.hpp, tiers/saved_tensors.hpp), an operator held against itself (check/check_operator.hpp),
// optional back ends (world/eigen_kernels.hpp).

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/exec/arena.hpp>
#include <hyperparallel/exec/executor.hpp>
#include <hyperparallel/kernels/choice.hpp>
#include <hyperparallel/kernels/element_type.hpp>
#include <hyperparallel/kernels/gemm.hpp>
#include <hyperparallel/kernels/keyed_random.hpp>
#include <hyperparallel/kernels/operator_kernels.hpp>
#include <hyperparallel/kernels/ops/builtin_kernels.hpp>
#include <hyperparallel/kernels/swiglu.hpp>
#include <hyperparallel/transfer/copy_boxes.hpp>
#include <hyperparallel/transfer/redistribute.hpp>
#include <hyperparallel/world/memory_budget.hpp>
#include <hyperparallel/world/model_run.hpp>
#include <hyperparallel/world/program_world.hpp>
#include <hyperparallel/world/single_device.hpp>
#include <hyperparallel/world/taskflow_world.hpp>
