// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launch lines of the frameworks that are known: read as plans, and plans written as launch lines.
//
//   const launch::launch_plan l = launch::read_launch_file("run.sh", llama3, 64);      whose it is, its name and contents say
//   launch::find_framework("megatron")->write(l.plan, llama3).lines                 read back, it is the plan
//
//   framework                     files
//   megatron                      a shell script, or a file of arguments
//   torchtitan, hyperparallel     FILE.toml; both have the same words
//   (none writes them)            .yaml and .yml of MindFormers
//   deepspeed, fsdp2              .yaml, .yml and .json of the Trainer, LLaMA-Factory, DeepSpeed or accelerate; a shell script with the Trainer's words
//
// Errors: io_error of one line with file, line and option. O(bytes).

#include <string>
#include <string_view>

#include "launch/launch_plan.hpp"
#include "launch/megatron_words.hpp"
#include "launch/torchtitan_words.hpp"
#include "launch/trainer_words.hpp"

namespace hp_tool::launch {

/// A framework whose words plans are written in.
struct launch_framework {
  const char* name;
  launch_text (*write)(const decoder_plan&, const decoder&);
  const char* line_end;  ///< between its lines
};
inline constexpr launch_framework launch_frameworks[] = {{"megatron", words_of_megatron, " \\\n"},
                                                         {"torchtitan", words_of_torchtitan, "\n"},
                                                         {"hyperparallel", words_of_torchtitan, "\n"},
                                                         {"deepspeed", words_of_deepspeed, "\n"},
                                                         {"fsdp2", words_of_fsdp2, "\n"}};

/// The framework of that name, or null.
const launch_framework* find_framework(std::string_view name);

/// The plan on `devices`, of a model that is read, and of sequences of `sequence` tokens where the file does not say how long they are. Throws
/// io_error, launch_contradiction where the file can be read and is not legal.
launch_plan read_launch_file(const std::string& path, const decoder& model, int devices, extent_t sequence = 0);

}  // namespace hp_tool::launch
