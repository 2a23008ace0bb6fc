// SPDX-License-Identifier: Apache-2.0
// Memory tiers: copy engines, sessions, saved tensors, budgets.
#include <hyperparallel/tiers/offload_session.ipp>
#include <hyperparallel/tiers/saved_tensors.ipp>
#include <hyperparallel/tiers/session_tier.ipp>
#include <hyperparallel/tiers/tier_memory.ipp>
#include <hyperparallel/transfer/copy_engine.ipp>
#include <hyperparallel/transfer/copy_error.ipp>
#include <hyperparallel/transfer/session_error.ipp>
#include <hyperparallel/transfer/use_guard.ipp>
#include <hyperparallel/world/memory_budget.ipp>
