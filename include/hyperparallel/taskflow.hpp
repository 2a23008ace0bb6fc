// SPDX-License-Identifier: Apache-2.0
#pragma once
// The whole of taskflow/: describe tasks and events, schedule them on typed queues, prove the plan, bound it, simulate
// it.
//
//   build -> check_flow -> list_schedule -> verify -> bound_makespan, simulate, lower to an execution table

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/taskflow/bounds.hpp>
#include <hyperparallel/taskflow/builder.hpp>
#include <hyperparallel/taskflow/cache_traffic.hpp>
#include <hyperparallel/taskflow/event_joins.hpp>
#include <hyperparallel/taskflow/exact_check.hpp>
#include <hyperparallel/taskflow/execution_table.hpp>
#include <hyperparallel/taskflow/flow_check.hpp>
#include <hyperparallel/taskflow/list_schedule.hpp>
#include <hyperparallel/taskflow/lower_execution.hpp>
#include <hyperparallel/taskflow/macro_check.hpp>
#include <hyperparallel/taskflow/macro_contract.hpp>
#include <hyperparallel/taskflow/macro_proof.hpp>
#include <hyperparallel/taskflow/macro_schedule.hpp>
#include <hyperparallel/taskflow/macro_status.hpp>
#include <hyperparallel/taskflow/macro_task.hpp>
#include <hyperparallel/taskflow/owned.hpp>
#include <hyperparallel/taskflow/pattern.hpp>
#include <hyperparallel/taskflow/queue_clocks.hpp>
#include <hyperparallel/taskflow/schedule_options.hpp>
#include <hyperparallel/taskflow/scratch.hpp>
#include <hyperparallel/taskflow/simulate.hpp>
#include <hyperparallel/taskflow/static_taskflow.hpp>
#include <hyperparallel/taskflow/storage.hpp>
#include <hyperparallel/taskflow/task.hpp>
#include <hyperparallel/taskflow/taskflow_stages.hpp>
#include <hyperparallel/taskflow/tile_run.hpp>
#include <hyperparallel/taskflow/unroll_macro_tasks.hpp>
#include <hyperparallel/taskflow/upward_rank.hpp>
#include <hyperparallel/taskflow/vector_clocks.hpp>
#include <hyperparallel/taskflow/verify.hpp>
#include <hyperparallel/taskflow/verify_groups.hpp>
#include <hyperparallel/taskflow/verify_order.hpp>
#include <hyperparallel/taskflow/verify_pairs.hpp>
