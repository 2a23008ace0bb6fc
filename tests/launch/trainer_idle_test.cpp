// SPDX-License-Identifier: Apache-2.0
#include "launch/trainer_idle.hpp"

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;

TEST(trainer_idle, what_changes_memory_or_time_is_not_idle) {
  for (const char* name :
       {"optim", "use_liger_kernel", "torch_compile", "per_device_train_batch_size", "quantization_bit",
        "fsdp_config.offload_params", "fsdp_offload_params", "gradient_checkpointing", "fp8"})
    EXPECT_FALSE(launch::is_idle_of_trainer(name)) << name;
  for (const char* name :
       {"zero_optimization.reduce_bucket_size", "zero_optimization.sub_group_size",
        "zero_optimization.offload_optimizer.ratio", "zero_optimization.zero_hpz_partition_size",
        "activation_checkpointing.cpu_checkpointing", "optimizer.type", "data_types.grad_accum_dtype"})
    EXPECT_FALSE(launch::is_idle_of_deepspeed(name)) << name;
}

TEST(trainer_idle, names_of_data_files_and_reports_are_idle) {
  for (const char* name :
       {"output_dir", "learning_rate", "save_steps", "dataset", "template", "lora_alpha", "ddp_timeout",
        "fsdp_config.fsdp_auto_wrap_policy", "fsdp_config.state_dict_type", "fsdp_use_orig_params"})
    EXPECT_TRUE(launch::is_idle_of_trainer(name)) << name;
  for (const char* name :
       {"gradient_clipping", "steps_per_print", "fp16.loss_scale", "scheduler.params.warmup_num_steps",
        "zero_optimization.offload_param.pin_memory", "zero_optimization.offload_param.nvme_path"})
    EXPECT_TRUE(launch::is_idle_of_deepspeed(name)) << name;
}

TEST(trainer_idle, defaults_are_off_but_for_those_that_are_on) {
  EXPECT_TRUE(launch::is_default_value("use_liger_kernel", "false"));
  EXPECT_FALSE(launch::is_default_value("use_liger_kernel", "true"));
  EXPECT_TRUE(launch::is_default_value("zero_optimization.contiguous_gradients", "true"));
  EXPECT_FALSE(launch::is_default_value("zero_optimization.contiguous_gradients", "false"));
  EXPECT_TRUE(launch::is_default_value("zero_optimization.reduce_bucket_size", "auto"));
  EXPECT_FALSE(launch::is_default_value("zero_optimization.reduce_bucket_size", "5e8"));
}

}  // namespace
