// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of the Trainer's, LLaMA-Factory's, DeepSpeed's and accelerate's options that change neither memory nor time of a step, and values
// that leave a default as it is.
//
// Law: what is idle by name is idle with every value. O(names).

#include <string_view>

#include "launch/launch_plan.hpp"

namespace hp_tool::launch {

/// Of the Trainer, of LLaMA-Factory and of launchers: what names begin with.
inline constexpr std::string_view idle_of_trainer =
    "output_dir overwrite_ logging_ log_ save_ eval_ evaluation_ do_ num_train_ max_steps learning_rate lr_ warmup_ "
    "weight_decay adam_ max_grad_norm label_ seed data_seed report_to run_name resume_ dataloader_ ddp_timeout "
    "ddp_find push_to_hub hub_ remove_unused metric_ greater_is load_best disable_tqdm plot_loss model_name "
    "model_type tokenizer_ config_name trust_remote cache_dir use_fast_token dataset data_path train_file "
    "validation_ val_size template max_samples preprocessing_ media_dir image_ video_ stage per_device_eval "
    "predict_ lora_alpha lora_dropout loraplus use_rslora pref_ low_cpu_mem streaming buffer_size mix_strategy "
    "interleave_ tokenized_path infer_dtype ray_ swanlab use_swanlab wandb local_rank master rdzv node_rank "
    "machine_rank main_process main_training compute_env debug downcast_ same_network tpu_ use_cpu enable_cpu_aff "
    "hostfile include exclude standalone module packing neat_packing rope_scaling mask_history train_on_prompt "
    "average_tokens text_column nnodes num_nodes num_machines use_deepspeed use_fsdp distributed_type "
    "gradient_checkpointing_kwargs use_reentrant_gc torch_compile_backend lazy_preprocess";

/// Of a DeepSpeed configuration.
inline constexpr std::string_view idle_of_deepspeed =
    "gradient_clipping steps_per_print wall_clock_ zero_allow_untested zero_force_ds_cpu fp16. bf16. scheduler. "
    "optimizer.params. tensorboard wandb csv_monitor monitor_config comms_ flops_profiler dump_state elasticity "
    "zero_optimization.stage3_gather_ zero_optimization.ignore_unused zero_optimization.elastic_ "
    "zero_optimization.load_from_fp32";

/// Of FSDP.
inline constexpr std::string_view idle_of_fsdp =
    "auto_wrap_policy transformer_layer_cls state_dict_type cpu_ram_efficient sync_module_states use_orig_params "
    "min_num_params";

/// Domain: names of a DeepSpeed configuration are without what stands before "zero_optimization".
constexpr bool is_idle_of_deepspeed(std::string_view name) {
  return begins_as_one_of(idle_of_deepspeed, name) || name.ends_with(".pin_memory") || name.ends_with(".nvme_path");
}
/// Of the Trainer, of LLaMA-Factory, of accelerate and of launchers.
constexpr bool is_idle_of_trainer(std::string_view name) {
  for (const std::string_view section : {"fsdp_config.fsdp_", "fsdp_config.", "fsdp_"})
    if (name.starts_with(section) && begins_as_one_of(idle_of_fsdp, name.substr(section.size()))) return true;
  return begins_as_one_of(idle_of_trainer, name) || name == "deepspeed_config.zero3_init_flag" ||
         name == "deepspeed_config.zero3_save_16bit_model" || name == "deepspeed_config.gradient_clipping";
}
/// Whether the value is the default of an option that is not looked up: off, none or the framework's choice, but on for those of
/// DeepSpeed that are on by default.
constexpr bool is_default_value(std::string_view name, std::string_view value) {
  const bool is_on_by_default = name.ends_with("contiguous_gradients") || name.ends_with("reduce_scatter") ||
                                name.ends_with("allgather_partitions");
  if (value == "auto" || value == "none" || value == "NONE") return true;
  const bool is_on = value == "true" || value == "True", is_off = value == "false" || value == "False";
  return is_on_by_default ? is_on : is_off;
}

}  // namespace hp_tool::launch
