// SPDX-License-Identifier: Apache-2.0
#pragma once
// A decoder's plan as a YAML of the Hugging Face Trainer's arguments: sharded by DeepSpeed, or by FSDP2.
//
//   const launch::launch_text w = launch::words_of_deepspeed(plan, llama3);
//   w.lines       "per_device_train_batch_size: 2", …, "deepspeed:", "  zero_optimization:", "    stage: 3", …
//   w.unsaid      what no argument says: "tp=8"
//
// Three names are LLaMA-Factory's, whose YAML has them beside the Trainer's: cutoff_len, finetuning_type and disable_gradient_checkpointing.
// Law: where nothing is unsaid, `plan_of_trainer` of the lines is the plan, on as many devices. Source: as trainer_launch.hpp.

#include "launch/launch_plan.hpp"

namespace hp_tool::launch {

/// With a configuration of DeepSpeed inline. Precondition: `check_plan` says ok.
launch_text words_of_deepspeed(const decoder_plan& p, const decoder&);

/// With FSDP2 by the Trainer: stage 3 shards again after forward, stage 2 does not. Precondition: `check_plan` says ok.
launch_text words_of_fsdp2(const decoder_plan& p, const decoder&);

}  // namespace hp_tool::launch
