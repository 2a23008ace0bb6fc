// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run of MindFormers (MindSpore Transformers) as the plan of a decoder: the YAML that run_mindformer.py takes with --config.
//
//   const launch::launch_plan l = launch::plan_of_mindformers(launch::yaml_options_of(text, path), path, llama3, 64);
//
// Meanings: devices = data_parallel · model_parallel · context_parallel · pipeline_stage. Experts lie on data ranks, or where these are too few
// on tensor ranks, too. A step has batch_size · data_parallel · micro_batch_num · micro_batch_interleave_num · gradient_accumulation_steps
// sequences. The parallel optimizer shards parameters and states among data ranks, or groups of optimizer_weight_shard_size: level1 keeps what
// is gathered for backward and sums whole gradients, level2 shards gradients, level3 gathers again; these are ZeRO 1 to 3.
// A pipeline with pp_interleave_num chunks a rank is interleaved. Defaults are the framework's: f32 parameters, products in 16 bits.
// Errors: io_error of one line with file, line and option; launch_contradiction where degrees contradict each other.
// Source: the configuration pages of MindSpore Transformers r1.3 to r1.7 and of MindSpore's optimizer parallelism, r2.6 to r2.11.

#include <string>
#include <vector>

#include "launch/launch_plan.hpp"

namespace hp_tool::launch {

/// Whether options are of such a file.
bool is_of_mindformers(const std::vector<launch_option>& options);

/// The plan on `devices`, of a model that is read; of `sequence` tokens where the file does not say how many. Throws io_error.
launch_plan plan_of_mindformers(const std::vector<launch_option>& options, const std::string& path,
                                const decoder& model, int devices, extent_t sequence = 0);

}  // namespace hp_tool::launch
