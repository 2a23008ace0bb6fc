// SPDX-License-Identifier: Apache-2.0
#pragma once
// The subcommands of hp: one source each, which declares its options and returns what it does with them.

#include <functional>

#include "common_options.hpp"
#include "refusals.hpp"

namespace hp_tool {

/// What a subcommand does once its arguments are read. Returns the exit status: 0 good, 1 the answer is no. Throws bad_input and
/// answer_is_no.
using work = std::function<int()>;

work add_explain(command_line::command app);
work add_replay(command_line::command app);
work add_tables(command_line::command app);
work add_plan(command_line::command app);
work add_check(command_line::command app);
work add_serve(command_line::command app);
work add_offload(command_line::command app);
work add_sched(command_line::command app);
work add_trace(command_line::command app);
work add_truth(command_line::command app);
work add_reshard(command_line::command app);

struct subcommand {
  const char *name, *summary;
  work (*add)(command_line::command);
};

inline constexpr subcommand subcommands[] = {
    {"explain", "How a tensor moves from one layout to another, what it costs and what else there is.", add_explain},
    {"replay", "Ground-truth vectors, one JSON object a line, held against the library.", add_replay},
    {"tables", "Published figures beside ours, from one set of parameters.", add_tables},
    {"plan", "Whether training fits on devices and how long a step takes, from a config.json.", add_plan},
    {"check", "Whether a launch line is legal and fits, by the exit status, and what is nearest that does.", add_check},
    {"serve", "An estimate of inference: memory by tier, longest context, prefill and decode.", add_serve},
    {"offload", "What offload to the host's memory buys in the training of large models.", add_offload},
    {"sched", "Pipeline schedules as torch's schedule files: made, proved, timed and drawn.", add_sched},
    {"trace", "A trace of a run: how long each row is busy with what, as a page.", add_trace},
    {"truth", "How far hp plan is from published and measured runs: errors, order, bounds.", add_truth},
    {"reshard", "A checkpoint in another layout, another framework's names, another element type.", add_reshard}};

}  // namespace hp_tool
