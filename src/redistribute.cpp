// SPDX-License-Identifier: Apache-2.0
// Moves between the memories of ranks.
#include <hyperparallel/exec/huge_pages.ipp>
#include <hyperparallel/transfer/copy_schedule.ipp>
#include <hyperparallel/transfer/move_task.ipp>
#include <hyperparallel/transfer/parallel_copy.ipp>
#include <hyperparallel/transfer/planned_tensor.ipp>
#include <hyperparallel/transfer/redistribute.ipp>
#include <hyperparallel/transfer/step_records.ipp>
