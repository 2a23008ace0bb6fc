// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of a launch file of the Hugging Face Trainer, with those of the files that it names.
//
//   deepspeed: ds_z3.json       deepspeed.zero_optimization.stage of it, …; likewise --deepspeed ds_z3.json, --deepspeed '{"bf16": …}'
//   fsdp_config: fsdp.json      fsdp_config.…
//   --config_file fsdp2.yaml    accelerate's, whose names are its own; what the launch file says counts before it
//
// A path is read from the folder of the launch file. What is null is left out: the framework's default counts. Laws: an option of a named
// file has that file and its line; a file that a named one names is read once more for DeepSpeed alone, so reading ends.
// Errors are io_error of one line with the file. O(bytes).

#include <cstdint>
#include <string>
#include <vector>

#include "launch/launch_plan.hpp"

namespace hp_tool::launch {

inline constexpr std::int64_t largest_launch_file = std::int64_t{1} << 20;

/// `given`, of the file `path`, and what its files say. Throws io_error.
std::vector<launch_option> with_named_files(const std::vector<launch_option>& given, const std::string& path);

}  // namespace hp_tool::launch
