// SPDX-License-Identifier: Apache-2.0
#pragma once
// HyperShard at run time: distributed tensors on simulated ranks, their operators and gradients, manual shards
// and sharding plans.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/dtensor/apply.hpp>
#include <hyperparallel/dtensor/creation.hpp>
#include <hyperparallel/dtensor/custom_shard.hpp>
#include <hyperparallel/dtensor/dtensor.hpp>
#include <hyperparallel/dtensor/gradient.hpp>
#include <hyperparallel/dtensor/listed_operation.hpp>
#include <hyperparallel/dtensor/operation.hpp>
#include <hyperparallel/dtensor/operations/attention.hpp>
#include <hyperparallel/dtensor/operations/contraction.hpp>
#include <hyperparallel/dtensor/operations/convolution.hpp>
#include <hyperparallel/dtensor/operations/elementwise.hpp>
#include <hyperparallel/dtensor/operations/indexing.hpp>
#include <hyperparallel/dtensor/operations/movement.hpp>
#include <hyperparallel/dtensor/operations/normalization.hpp>
#include <hyperparallel/dtensor/operations/ordering.hpp>
#include <hyperparallel/dtensor/operations/reduction.hpp>
#include <hyperparallel/dtensor/optimizer.hpp>
#include <hyperparallel/dtensor/resolved.hpp>
#include <hyperparallel/dtensor/sharded_set.hpp>
#include <hyperparallel/dtensor/traced_movement.hpp>
#include <hyperparallel/dtensor/untraced_functions.hpp>
#include <hyperparallel/shard.hpp>
