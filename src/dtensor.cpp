// SPDX-License-Identifier: Apache-2.0
// Distributed tensors.
#include <hyperparallel/dtensor/apply_rule.ipp>
#include <hyperparallel/dtensor/conversion.ipp>
#include <hyperparallel/dtensor/creation.ipp>
#include <hyperparallel/dtensor/custom_shard.ipp>
#include <hyperparallel/dtensor/dynamic_dtensor.ipp>
#include <hyperparallel/dtensor/gradient_parts.ipp>
#include <hyperparallel/dtensor/keep_in_session.ipp>
#include <hyperparallel/dtensor/move.ipp>
#include <hyperparallel/dtensor/rank_group.ipp>
#include <hyperparallel/dtensor/sharded_set.ipp>
#include <hyperparallel/exec/status_text.ipp>
