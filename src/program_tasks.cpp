// SPDX-License-Identifier: Apache-2.0
// The work behind the tasks of a program, their checks, and the memories of its ranks.
#include <hyperparallel/world/block_sums.ipp>
#include <hyperparallel/world/program_memory.ipp>
#include <hyperparallel/world/program_run.ipp>
#include <hyperparallel/world/program_tasks.ipp>
#include <hyperparallel/world/task_checks.ipp>
