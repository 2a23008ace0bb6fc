// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a run stands still: from the heads of the queues, the task that waits, its event and who has yet to signal it.
//
// Nothing is counted while tasks run; the signals that an event has are those of the tasks before the heads.

#include <cstdint>
#include <utility>
#include <vector>

#include <hyperparallel/exec/bound_plan.hpp>
#include <hyperparallel/exec/failure.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// The task of a record.
named_task name_task(const plan_view& p, const program_names& names, int record);

/// Of the queues that `busy` does not hold, one whose head waits for signals that have not come: the first that waits
/// for an event nobody is left to signal, for that is a cause and not a consequence, else the first; task -1 if there
/// is none. `head[q]` is a record of queue q, or one past its last. O(waits of the heads · (tasks + signals)).
waiting_task find_waiting(const plan_view& p, const program_names& names, const std::vector<int>& head,
                          const std::vector<bool>& busy);

}}}  // namespace hyperparallel::v0_2::detail

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/exec/diagnosis.ipp>
#endif
