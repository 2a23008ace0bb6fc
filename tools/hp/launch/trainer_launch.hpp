// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run of the Hugging Face Trainer as the plan of a decoder: its arguments, LLaMA-Factory's YAML, DeepSpeed's JSON, FSDP of accelerate.
//
//   const launch::launch_plan l = launch::plan_of_trainer(launch::yaml_options_of(text, path), path, launch::launch_form::document, llama3, 8);
//   l.plan, l.stack, l.unheeded                    what changes memory or time and no figure heeds, with its line
//
// Meanings: every device is a data rank; a step has per_device_train_batch_size · gradient_accumulation_steps sequences of each, and
// DeepSpeed's train_batch_size is their product with the devices. ZeRO is DeepSpeed's stage; under FSDP it is 3 where parameters are
// sharded again after forward, else 2; hybrid shards have a copy a node. LLaMA-Factory trains adapters, and checkpoints layers,
// unless it is said otherwise. Sequences are taken to be as long as the file lets them be.
// Precision: under DeepSpeed parameters of 16 bits with a master; else bf16 is autocast of f32 parameters, unless the model is loaded as bf16.
// Stacks: FSDP runs on fsdp2, one device on transformers, or with autocast on transformers_amp, and DeepSpeed on the stack of its
// name. Moments of 8 bits and other optimizers are counted by the library's account, since stacks that are walked have none.
// Defaults are the framework's. In a document a name that stands twice is refused, in a script the last one counts.
// Errors: io_error of one line with file, line and option. O(options log options).
// Sources: training_args.py of transformers 5 (00349ae8), examples and hparams of LLaMA-Factory (00577a85, 06d78ff1), the ZeRO configuration of
// DeepSpeed (1b88ac36), configurations of accelerate as these examples have them.

#include <string>
#include <vector>

#include "launch/trainer_book.hpp"

namespace hp_tool::launch {

/// The plan on `devices`, of `sequence` tokens where the file says no other; 0: as the file says. Throws io_error.
launch_plan plan_of_trainer(const std::vector<launch_option>& options, const std::string& path, launch_form form,
                            int devices, extent_t sequence = 0);

}  // namespace hp_tool::launch
