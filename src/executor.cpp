// SPDX-License-Identifier: Apache-2.0
// Threads, queues, failures: what runs a taskflow.
#include <hyperparallel/exec/arena.ipp>
#include <hyperparallel/exec/asymmetric_fence.ipp>
#include <hyperparallel/exec/bound_plan.ipp>
#include <hyperparallel/exec/core_loss.ipp>
#include <hyperparallel/exec/cores.ipp>
#include <hyperparallel/exec/crew.ipp>
#include <hyperparallel/exec/diagnosis.ipp>
#include <hyperparallel/exec/executor.ipp>
#include <hyperparallel/exec/failure.ipp>
#include <hyperparallel/exec/lent_core.ipp>
#include <hyperparallel/exec/parking.ipp>
#include <hyperparallel/exec/plan_state.ipp>
#include <hyperparallel/exec/watchdog.ipp>
#include <hyperparallel/exec/worker_share.ipp>
#include <hyperparallel/kernels/steady_time.ipp>

template class hyperparallel::executor<hyperparallel::no_profile>;
template class hyperparallel::executor<hyperparallel::record_profile>;
