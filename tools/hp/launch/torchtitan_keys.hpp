// SPDX-License-Identifier: Apache-2.0
#pragma once
// The keys of torchtitan's TOML files that a plan is read from, those that say nothing of a step, and the schedules by its names.
//
// Source: as torchtitan_launch.hpp.

#include <string_view>

#include "launch/launch_plan.hpp"

namespace hp_tool::launch {

/// A key and what older versions called it.
struct torchtitan_key {
  const char* name;
  const char* older = nullptr;
  const char* oldest = nullptr;
};

/// The schedules of torchtitan that are here, by its names.
inline constexpr const char* torchtitan_schedules[] = {
    "1F1B", "GPipe", "Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV"};
/// Whether torchtitan gives each rank one stage of it.
constexpr bool has_one_stage_a_rank(const named_schedule& s) {
  return detail::same_text(s.name, one_forward_one_backward::name) || detail::same_text(s.name, gpipe::name);
}

namespace torchtitan_keys {

inline constexpr torchtitan_key replicate{"parallelism.data_parallel_replicate_degree",
                                          "training.data_parallel_replicate_degree"};
inline constexpr torchtitan_key shard{"parallelism.data_parallel_shard_degree", "training.data_parallel_shard_degree",
                                      "training.data_parallel_degree"};
inline constexpr torchtitan_key tensor{"parallelism.tensor_parallel_degree", "training.tensor_parallel_degree"};
inline constexpr torchtitan_key pipeline{"parallelism.pipeline_parallel_degree",
                                         "experimental.pipeline_parallel_degree"};
inline constexpr torchtitan_key context{"parallelism.context_parallel_degree", "experimental.context_parallel_degree"};
inline constexpr torchtitan_key schedule{"parallelism.pipeline_parallel_schedule",
                                         "experimental.pipeline_parallel_schedule"};
inline constexpr torchtitan_key async{"parallelism.enable_async_tensor_parallel",
                                      "experimental.enable_async_tensor_parallel"};
inline constexpr torchtitan_key autograd{"parallelism.enable_compiled_autograd",
                                         "experimental.enable_compiled_autograd"};
inline constexpr torchtitan_key batch{"training.local_batch_size", "training.batch_size"};
inline constexpr torchtitan_key compile{"compile.enable", "training.compile"};
inline constexpr torchtitan_key narrow{"float8.enable_float8_linear", "training.enable_float8_linear"};
inline constexpr torchtitan_key global{"training.global_batch_size"};
inline constexpr torchtitan_key sequence{"training.seq_len"};
inline constexpr torchtitan_key micro{"parallelism.pipeline_parallel_microbatch_size"};
inline constexpr torchtitan_key chunk{"parallelism.pipeline_parallel_layers_per_stage"};
inline constexpr torchtitan_key first{"parallelism.pipeline_parallel_first_stage_less_layers"};
inline constexpr torchtitan_key last{"parallelism.pipeline_parallel_last_stage_less_layers"};
inline constexpr torchtitan_key expert{"parallelism.expert_parallel_degree"};
inline constexpr torchtitan_key expert_tensor{"parallelism.expert_tensor_parallel_degree"};

}  // namespace torchtitan_keys

/// Keys of data, training, files and reports, which change neither memory nor time of a step; those of narrow products where none is taken.
constexpr bool is_idle_key(std::string_view name, bool narrow) {
  constexpr std::string_view narrowings = "float8. mx. quantize.";
  constexpr std::string_view lists_of_modules = "quantize.grouped_mm. quantize.moe.";
  constexpr std::string_view beginnings =
      "job. profiling. metrics. model. checkpoint. lr_scheduler. comm. validation. memory_estimation. "
      "fault_tolerance. experimental.custom debug. training.dataset training.dataloader training.steps "
      "training.max_norm training.seed training.gc_ training.warmup_steps optimizer.lr optimizer.beta optimizer.eps "
      "optimizer.weight_decay activation_checkpoint.preserve_rng activation_checkpoint.determinism "
      "activation_checkpoint.debug activation_checkpoint.visualize";
  return begins_as_one_of(beginnings, name) || begins_as_one_of(lists_of_modules, name) ||
         (!narrow && begins_as_one_of(narrowings, name));
}

}  // namespace hp_tool::launch
