// SPDX-License-Identifier: Apache-2.0
#pragma once
// A decoder's plan in Megatron-LM's words: the options of a launch line that say it.
//
//   const launch::launch_text w = launch::words_of_megatron(plan, llama3);
//   w.lines       "--tensor-model-parallel-size 8", …
//   w.unsaid        what no option says: "schedule=ZB-V"
//
// Law: where nothing is unsaid, `plan_of_megatron` of the options is the plan, on as many devices. Degrees of 1 and the framework's
// defaults are left out. Source: as megatron_launch.hpp.

#include "launch/launch_plan.hpp"

namespace hp_tool::launch {

/// Precondition: `check_plan` says ok.
launch_text words_of_megatron(const decoder_plan& p, const decoder& d);

}  // namespace hp_tool::launch
