// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of offload/: use-definition chains over memory tiers, plans of what leaves and comes back, their clock
// and bounds, control by name, host swap, prefetch windows.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/offload/link_calendar.hpp>
#include <hyperparallel/offload/offload_bounds.hpp>
#include <hyperparallel/offload/offload_clock.hpp>
#include <hyperparallel/offload/offload_copies.hpp>
#include <hyperparallel/offload/offload_event.hpp>
#include <hyperparallel/offload/offload_greedy.hpp>
#include <hyperparallel/offload/offload_link.hpp>
#include <hyperparallel/offload/offload_order.hpp>
#include <hyperparallel/offload/offload_plan.hpp>
#include <hyperparallel/offload/offload_planner.hpp>
#include <hyperparallel/offload/offload_program.hpp>
#include <hyperparallel/offload/offload_rules.hpp>
#include <hyperparallel/offload/offload_search.hpp>
#include <hyperparallel/offload/offload_timeline.hpp>
#include <hyperparallel/offload/use_chains.hpp>
