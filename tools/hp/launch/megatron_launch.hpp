// SPDX-License-Identifier: Apache-2.0
#pragma once
// A Megatron-LM launch line as the plan of a decoder: degrees, batch, sequence, recomputation, precision, optimizer, schedule.
//
//   const launch::launch_plan l = launch::plan_of_megatron(launch::launch_options_of(text), "run.sh", llama3, 64);
//   l.plan, l.unheeded                      what changes memory or time and no figure heeds, with its line
//
// Meanings, with W devices: dp = W / (tp · pp · cp). Experts lie on W / pp ranks: ep · etp of them have one copy, so that ep folds
// over data, context and, where etp is 1, tensor ranks; here these ranks are dp · ep, cp and tp of a plan, and experts_along says
// over which of the last two experts are dealt. micro-batches = global batch / (micro-batch · dp). A pipeline with several chunks a
// rank is interleaved. Defaults are the framework's: etp is tp, ZeRO is 0 without the distributed optimizer, parameters are f32
// without --bf16, the vocabulary is padded to a multiple of 128 tp, gradients are added up in f32 with it and in 16 bits with --fp16.
// Selective recomputation leaves out attention's scores, which no plan keeps: it is none. Where an option stands twice, the last one
// counts, as with argparse, and `notes` says so.
// Errors: io_error of one line with file, line and option: a number that is none, a value that is not known; of them
// launch_contradiction: degrees that contradict each other, a size of the model that the config.json has otherwise. Source: Megatron-LM core 0.12 to 0.17, megatron/training/arguments.py.

#include <string>
#include <vector>

#include "launch/launch_plan.hpp"

namespace hp_tool::launch {

/// The plan on `devices`, of a model that is read; of `sequence` tokens where the line does not say how many, 0: that is refused. Throws
/// io_error.
launch_plan plan_of_megatron(const std::vector<launch_option>& options, const std::string& path, const decoder& model,
                             int devices, extent_t sequence = 0);

}  // namespace hp_tool::launch
