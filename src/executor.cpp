// SPDX-License-Identifier: Apache-2.0
// Threads, queues, failures: what runs a taskflow.
#include <hyperparallel/kernels/steady_time.ipp>
#include <hyperparallel/runtime/arena.ipp>
#include <hyperparallel/runtime/asymmetric_fence.ipp>
#include <hyperparallel/runtime/bound_plan.ipp>
#include <hyperparallel/runtime/core_loss.ipp>
#include <hyperparallel/runtime/cores.ipp>
#include <hyperparallel/runtime/crew.ipp>
#include <hyperparallel/runtime/diagnosis.ipp>
#include <hyperparallel/runtime/executor.ipp>
#include <hyperparallel/runtime/failure.ipp>
#include <hyperparallel/runtime/lent_core.ipp>
#include <hyperparallel/runtime/parking.ipp>
#include <hyperparallel/runtime/plan_state.ipp>
#include <hyperparallel/runtime/watchdog.ipp>
#include <hyperparallel/runtime/worker_share.ipp>

template class hyperparallel::executor<hyperparallel::no_profile>;
template class hyperparallel::executor<hyperparallel::record_profile>;
