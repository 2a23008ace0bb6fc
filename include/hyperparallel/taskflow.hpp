// SPDX-License-Identifier: Apache-2.0
#pragma once
// The whole of taskflow/: describe tasks and events, schedule them on typed queues, prove the plan, bound it, simulate
// it.
//
//   build -> check_flow -> list_schedule -> verify -> bound_makespan, simulate

#include <hyperparallel/taskflow/bounds.hpp>
#include <hyperparallel/taskflow/builder.hpp>
#include <hyperparallel/taskflow/exact_check.hpp>
#include <hyperparallel/taskflow/flow_check.hpp>
#include <hyperparallel/taskflow/list_schedule.hpp>
#include <hyperparallel/taskflow/owned.hpp>
#include <hyperparallel/taskflow/pattern.hpp>
#include <hyperparallel/taskflow/scratch.hpp>
#include <hyperparallel/taskflow/simulate.hpp>
#include <hyperparallel/taskflow/storage.hpp>
#include <hyperparallel/taskflow/task.hpp>
#include <hyperparallel/taskflow/tile_run.hpp>
#include <hyperparallel/taskflow/upward_rank.hpp>
#include <hyperparallel/taskflow/verify.hpp>
#include <hyperparallel/taskflow/verify_order.hpp>
