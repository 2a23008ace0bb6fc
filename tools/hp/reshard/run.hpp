// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a plan: reads each tile of a tensor, converts it, writes it to every place that the target has for it.
//
// Threads take tiles in turn, each with buffers of its own. What is done is kept in the journal of partial_set.hpp with the checksums of
// its bytes, read and written, so that a run that was killed goes on.
//
// Laws: the target depends on plan and source alone, not on threads, cap, or where a run was stopped; each byte of the source that the
// plan reads is read once, of tensors with scales twice. Errors: io_error, plan_error of one line; the partial folder stays for the next
// run. O(bytes + runs).

#include <cstdint>
#include <functional>
#include <vector>

#include "plan.hpp"
#include "target_files.hpp"
#include "work.hpp"

namespace hp_tool::reshard {

/// Called with bytes that are read and all of them, by any thread.
using reshard_progress = std::function<void(std::int64_t, std::int64_t)>;

/// Writes the set with these texts beside the tensors.
void run_plan(const std::vector<set_file>& source, const reshard_plan& plan, partial_set& partial,
              const reshard_limits& limits, const std::vector<side_file>& beside,
              const reshard_progress& progress = {});

}  // namespace hp_tool::reshard
