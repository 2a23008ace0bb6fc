// SPDX-License-Identifier: Apache-2.0
#pragma once
// A TOML file of torchtitan, or of HyperParallel, as the plan of a decoder: degrees, batch, sequence, pipeline, recomputation, precision.
//
//   const launch::launch_plan l = launch::plan_of_torchtitan(launch::toml_options(text, "run.toml"), "run.toml", llama3, 64);
//   l.plan, l.stack, l.unheeded
//
// HyperParallel's own TOML has torchtitan's words: one reader for both.
//
// Meanings, with W devices: shards are cut for data_parallel_shard_degree · context_parallel_degree ranks, each in so many copies as
// data_parallel_replicate_degree says, W / (copies · tp · pp · cp) shards unless said. Shards are ZeRO 3, and ZeRO 2 where parameters
// stay gathered after forward, which is the default of a pipeline; where nothing is sharded it is ZeRO 0. tp has sequence
// parallelism. Experts lie on ranks of one copy, all context ranks first, and all tensor ranks where etp is 1, its default. A
// pipeline cuts the local batch into micro-batches; without one micro-batches are those that are accumulated. Stages of a rank are
// one for 1F1B and GPipe and two for others, unless layers_per_stage says so. Shards are f32, what is gathered bf16: the formats
// called "bf16", with float8 converters "fp8". The stack is fsdp2, with [compile] fsdp2_compiled. Selective checkpoints by operator
// are a plan's; of every n-th layer they are not, and count as none. Defaults are torchtitan's; older names of keys are known.
// Errors: io_error of one line with file, line and key, also for what torchtitan refuses: sequences that tp or 2 · cp do not divide,
// tied embeddings in a pipeline. Source: torchtitan 0.1 to 0.2 (2025, the versions that read TOML): config/job_config.py,
// distributed/parallel_dims.py, distributed/pipeline_parallel.py, models/llama3/infra/parallelize.py.

#include <string>
#include <vector>

#include "launch/launch_plan.hpp"

namespace hp_tool::launch {

/// The plan on `devices`, of a model that is read. Throws io_error.
launch_plan plan_of_torchtitan(const std::vector<launch_option>& options, const std::string& path, const decoder& model,
                               int devices);

}  // namespace hp_tool::launch
