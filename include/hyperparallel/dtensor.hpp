// SPDX-License-Identifier: Apache-2.0
#pragma once
// HyperShard at run time: distributed tensors on simulated ranks, their operators and gradients, manual shards
// and sharding plans.

#include <hyperparallel/runtime/custom_shard.hpp>
#include <hyperparallel/runtime/dtensor/apply.hpp>
#include <hyperparallel/runtime/dtensor/creation.hpp>
#include <hyperparallel/runtime/dtensor/dtensor.hpp>
#include <hyperparallel/runtime/dtensor/gradient.hpp>
#include <hyperparallel/runtime/dtensor/listed_operation.hpp>
#include <hyperparallel/runtime/dtensor/operation.hpp>
#include <hyperparallel/runtime/dtensor/operations/attention.hpp>
#include <hyperparallel/runtime/dtensor/operations/contraction.hpp>
#include <hyperparallel/runtime/dtensor/operations/convolution.hpp>
#include <hyperparallel/runtime/dtensor/operations/elementwise.hpp>
#include <hyperparallel/runtime/dtensor/operations/indexing.hpp>
#include <hyperparallel/runtime/dtensor/operations/movement.hpp>
#include <hyperparallel/runtime/dtensor/operations/normalization.hpp>
#include <hyperparallel/runtime/dtensor/operations/ordering.hpp>
#include <hyperparallel/runtime/dtensor/operations/reduction.hpp>
#include <hyperparallel/runtime/dtensor/optimizer.hpp>
#include <hyperparallel/runtime/dtensor/resolved.hpp>
#include <hyperparallel/runtime/dtensor/sharded_set.hpp>
#include <hyperparallel/runtime/dtensor/traced_functions.hpp>
#include <hyperparallel/shard.hpp>
