// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of groups/: which ranks run which module, and programs beside each other.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/groups/actor_transition.hpp>
#include <hyperparallel/groups/check_groups.hpp>
#include <hyperparallel/groups/check_programs.hpp>
#include <hyperparallel/groups/dispatch.hpp>
#include <hyperparallel/groups/frozen_modules.hpp>
#include <hyperparallel/groups/group_table.hpp>
#include <hyperparallel/groups/module_claims.hpp>
#include <hyperparallel/groups/placed_programs.hpp>
#include <hyperparallel/groups/placement.hpp>
#include <hyperparallel/groups/process_groups.hpp>
#include <hyperparallel/groups/program_graph.hpp>
#include <hyperparallel/groups/program_period.hpp>
#include <hyperparallel/groups/program_status.hpp>
#include <hyperparallel/groups/program_times.hpp>
#include <hyperparallel/groups/program_waits.hpp>
#include <hyperparallel/groups/refused_groups.hpp>
#include <hyperparallel/groups/refused_programs.hpp>
#include <hyperparallel/groups/refused_split.hpp>
#include <hyperparallel/groups/renumbered_groups.hpp>
#include <hyperparallel/groups/split.hpp>
#include <hyperparallel/groups/split_choice.hpp>
#include <hyperparallel/groups/stage_order.hpp>
#include <hyperparallel/groups/staleness.hpp>
#include <hyperparallel/groups/submodels.hpp>
