// SPDX-License-Identifier: Apache-2.0
// Distributed tensors.
#include <hyperparallel/runtime/custom_shard.ipp>
#include <hyperparallel/runtime/dtensor/apply_rule.ipp>
#include <hyperparallel/runtime/dtensor/conversion.ipp>
#include <hyperparallel/runtime/dtensor/creation.ipp>
#include <hyperparallel/runtime/dtensor/dynamic_dtensor.ipp>
#include <hyperparallel/runtime/dtensor/gradient_parts.ipp>
#include <hyperparallel/runtime/dtensor/move.ipp>
#include <hyperparallel/runtime/dtensor/rank_group.ipp>
#include <hyperparallel/runtime/dtensor/sharded_set.ipp>
#include <hyperparallel/runtime/dtensor/status_text.ipp>
