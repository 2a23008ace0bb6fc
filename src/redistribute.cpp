// SPDX-License-Identifier: Apache-2.0
// Moves between the memories of ranks.
#include <hyperparallel/exec/huge_pages.ipp>
#include <hyperparallel/runtime/copy_schedule.ipp>
#include <hyperparallel/runtime/move_task.ipp>
#include <hyperparallel/runtime/parallel_copy.ipp>
#include <hyperparallel/runtime/planned_tensor.ipp>
#include <hyperparallel/runtime/redistribute.ipp>
#include <hyperparallel/runtime/step_records.ipp>
