// SPDX-License-Identifier: Apache-2.0
#pragma once
// A decoder's plan in the words of torchtitan, and of HyperParallel: the lines of a TOML file.
//
//   const launch::launch_text w = launch::words_of_torchtitan(plan, llama3);
//   w.lines       "[parallelism]", "tensor_parallel_degree = 8", …
//   w.unsaid        what no key says: "zero=1"
//
// Law: where nothing is unsaid, `plan_of_torchtitan` of the lines is the plan, on as many devices. Keys stand that are not as
// torchtitan has them by default, and those that say how large the run is. Source: as torchtitan_launch.hpp.

#include "launch/launch_plan.hpp"

namespace hp_tool::launch {

/// Precondition: `check_plan` says ok.
launch_text words_of_torchtitan(const decoder_plan& p, const decoder& d);

}  // namespace hp_tool::launch
