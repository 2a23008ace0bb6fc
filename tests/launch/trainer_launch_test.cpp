// SPDX-License-Identifier: Apache-2.0
// Files with public numbers mean what the Trainer, LLaMA-Factory, DeepSpeed and accelerate say; and what is written of them means the same.
#include "launch/trainer_launch.hpp"

#include "launch/launch_file.hpp"
#include "launch/launch_options.hpp"
#include "launch/yaml_options.hpp"

#include <hyperparallel/planner/plan_check.hpp>

#include <layers/decoder_shapes.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "support/error_of.hpp"
#include "support/tries.hpp"

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;

namespace {

using names = std::vector<std::string>;

std::string folder() {
  const char* const own = std::getenv("HYPERPARALLEL_OWN_VECTORS");  // ctest sets it
  return std::string(own != nullptr ? own : "tests/vectors") + "/../launch/";
}
const hp::decoder& model() { return hp::test::llama3_8b; }

launch::launch_plan plan(const std::string& text, int devices, hp::extent_t sequence = 0) {
  return launch::plan_of_trainer(launch::yaml_options_of(text, "run.yaml"), "run.yaml", launch::launch_form::document,
                                 devices, sequence);
}
launch::launch_plan of_script(const std::string& text, int devices, hp::extent_t sequence = 0) {
  return launch::plan_of_trainer(launch::launch_options_of(text), "run.sh", launch::launch_form::script, devices,
                                 sequence);
}
std::string complaint(const std::string& text, int devices = 8, hp::extent_t sequence = 0) {
  return tested::error_of<hp::io_error>([&] { plan(text, devices, sequence); });
}

/// What a file of tests/launch means, in one line.
std::string meaning(const launch::launch_plan& l) {
  const hp::decoder_plan& p = l.plan;
  std::string out = "dp=" + std::to_string(p.dp) + " zero=" + std::to_string(p.zero);
  if (p.copies > 1) out += " copies=" + std::to_string(p.copies);
  out += " " + std::to_string(p.batch) + "x" + std::to_string(p.sequence) + " in " + std::to_string(p.micro_batches);
  if (p.recomputed) out += " recompute";
  if (p.adapter_rank > 0) out += " lora=" + std::to_string(p.adapter_rank);
  if (p.adapted != hp::adapted_products::all) out += " qkv";
  return out + " " + hp::name_of(p.formats) + " on " + l.stack;
}

struct known_file {
  const char* name;
  int devices;
  hp::extent_t sequence;  ///< of --sequence; 0: none
  const char* meaning;
  names unheeded;  ///< what each ends with
};
const known_file known_files[] = {
    {"trainer/ds_z1.json", 8, 4096, "dp=8 zero=1 64x4096 in 2 bf16 on deepspeed", {}},
    {"trainer/ds_z2.json",
     16,
     2048,
     "dp=16 zero=2 256x2048 in 8 bf16 on deepspeed",
     {"zero_optimization.allgather_bucket_size 5e8 (line 7)", "zero_optimization.reduce_bucket_size 5e8 (line 8)"}},
    {"trainer/ds_z3.json",
     8,
     4096,
     "dp=8 zero=3 64x4096 in 1 f32 on deepspeed",
     {"zero_optimization.stage3_max_live_parameters 1e9 (line 15)",
      "zero_optimization.stage3_max_reuse_distance 1e9 (line 16)", "zero_optimization.sub_group_size 1e9 (line 17)"}},
    {"trainer/ds_z3_offload.json",
     8,
     8192,
     "dp=8 zero=3 128x8192 in 16 bf16 on deepspeed",
     {"zero_optimization.offload_param.device nvme (line 9): parameters are taken to be on the device",
      "zero_optimization.overlap_comm false (line 7): moves are taken to be hidden"}},
    {"trainer/ds_mics.json",
     32,
     4096,
     "dp=32 zero=3 copies=4 64x4096 in 1 bf16 on deepspeed",
     {"zero_optimization.zero_hpz_partition_size 8 (line 4)"}},
    {"trainer/run_clm_z3.sh",
     16,
     0,
     "dp=16 zero=3 256x4096 in 8 recompute bf16 on deepspeed",
     {"trainer/ds_z3.json, line 15)", "trainer/ds_z3.json, line 16)", "trainer/ds_z3.json, line 17)",
      "--use_liger_kernel True (line 14)"}},
    {"trainer/run_clm_fsdp.sh",
     16,
     0,
     "dp=16 zero=3 copies=2 64x2048 in 1 recompute bf16 on fsdp2_compiled",
     {"--fsdp_config.backward_prefetch backward_pre (line 4)"}},
    {"trainer/trainer_fsdp2.yaml", 8, 4096, "dp=8 zero=3 64x4096 in 4 recompute bf16_states8 on library", {}},
    {"llamafactory/llama3_full_z3.yaml",
     8,
     0,
     "dp=8 zero=3 16x4096 in 2 recompute bf16 on deepspeed",
     {"trainer/ds_z3.json, line 15)", "trainer/ds_z3.json, line 16)", "trainer/ds_z3.json, line 17)"}},
    {"llamafactory/llama3_lora.yaml", 1, 0, "dp=1 zero=0 8x2048 in 8 recompute lora=16 bf16 on transformers", {}},
    {"llamafactory/llama3_defaults.yaml", 1, 0, "dp=1 zero=0 8x2048 in 1 recompute lora=8 f32 on library", {}},
    {"llamafactory/llama3_qlora_attention.yaml",
     1,
     0,
     "dp=1 zero=0 4x1024 in 1 recompute lora=8 qkv bf16_states8 on library",
     {"quantization_bit 4 (line 4)", "quantization_method bnb (line 5)"}},
    {"llamafactory/llama3_full_z2_inline.yaml",
     8,
     0,
     "dp=8 zero=2 64x8192 in 4 bf16 on deepspeed",
     {"enable_liger_kernel true (line 9)"}},
    {"llamafactory/llama3_freeze.yaml",
     1,
     0,
     "dp=1 zero=0 1x2048 in 1 recompute bf16 on transformers",
     {"finetuning_type freeze (line 1): all parameters are taken to be trained",
      "flash_attn disabled (line 7): attention is taken to keep no square", "freeze_trainable_layers 8 (line 2)"}},
    {"llamafactory/llama3_full_fsdp.sh",
     8,
     0,
     "dp=8 zero=3 32x4096 in 4 recompute bf16 on fsdp2",
     {"llamafactory/fsdp2_accelerate.yaml, line 8)"}},
    {"llamafactory/fsdp2_accelerate.yaml",
     8,
     2048,
     "dp=8 zero=3 64x2048 in 1 bf16 on fsdp2",
     {"fsdp_config.fsdp_offload_params true (line 8)"}}};

TEST(trainer_launch, files_mean_what_their_frameworks_say) {
  for (const known_file& f : known_files) {
    SCOPED_TRACE(f.name);
    const launch::launch_plan l = launch::read_launch_file(folder() + f.name, model(), f.devices, f.sequence);
    EXPECT_EQ(meaning(l), f.meaning);
    EXPECT_TRUE(hp::check_plan(model(), l.plan, f.devices).ok());
    ASSERT_EQ(l.unheeded.size(), f.unheeded.size());
    for (std::size_t i = 0; i < f.unheeded.size(); ++i)
      EXPECT_TRUE(l.unheeded[i].ends_with(f.unheeded[i])) << l.unheeded[i];
  }
}

/// In either framework's words, where these say all of it; each file in one at least, but those with copies.
TEST(trainer_launch, files_are_written_with_the_same_meaning) {
  for (const known_file& f : known_files) {
    SCOPED_TRACE(f.name);
    const launch::launch_plan l = launch::read_launch_file(folder() + f.name, model(), f.devices, f.sequence);
    int said = 0;
    for (const char* framework : {"deepspeed", "fsdp2"}) {
      const launch::launch_text w = launch::find_framework(framework)->write(l.plan, model());
      if (!w.unsaid.empty()) continue;
      std::string text;
      for (const std::string& each : w.lines) text += each + "\n";
      EXPECT_EQ(plan(text, f.devices).plan, l.plan) << text;
      ++said;
    }
    EXPECT_EQ(said > 0, l.plan.copies == 1);
  }
}

TEST(trainer_launch, two_of_three_batches_say_the_third) {
  const auto of = [](const std::string& batches) {
    const hp::decoder_plan p = plan("{\"zero_optimization\": {\"stage\": 2}, " + batches + "}", 8, 4096).plan;
    return std::to_string(p.batch) + " in " + std::to_string(p.micro_batches);
  };
  const std::string all = "\"train_batch_size\": 64", each = "\"train_micro_batch_size_per_gpu\": 2",
                    times = "\"gradient_accumulation_steps\": 4";
  EXPECT_EQ(of(all + "," + each), "64 in 4");
  EXPECT_EQ(of(all + "," + times), "64 in 4");
  EXPECT_EQ(of(each + "," + times), "64 in 4");
  EXPECT_EQ(of(all + "," + each + "," + times), "64 in 4");
  EXPECT_EQ(of(all), "64 in 1");
  EXPECT_EQ(of(each), "16 in 1");
}

TEST(trainer_launch, precision_is_that_of_who_says_it) {
  const std::string base = "per_device_train_batch_size: 1\nmax_length: 2048\n";
  const auto of = [&](const std::string& more, int devices = 1) {
    const launch::launch_plan l = plan(base + more, devices);
    return std::string(hp::name_of(l.plan.formats)) + " on " + l.stack;
  };
  EXPECT_EQ(of(""), "f32 on library");
  EXPECT_EQ(of("bf16: true"), "f32 on transformers_amp");
  EXPECT_EQ(of("torch_dtype: bfloat16"), "bf16 on transformers");
  EXPECT_EQ(of("bf16: true\noptim: adafactor"), "f32 on transformers_amp");
  EXPECT_EQ(of("torch_dtype: bfloat16\noptim: adamw_bnb_8bit"), "bf16_states8 on library");
  EXPECT_EQ(of("torch_dtype: bfloat16\noptim: sgd"), "bf16 on library");
  EXPECT_EQ(of("bf16: true\ndeepspeed: {zero_optimization: {stage: 1}}", 8), "bf16 on deepspeed");
  EXPECT_EQ(of("deepspeed: {zero_optimization: {stage: 3}, fp16: {enabled: true}}", 8), "bf16 on deepspeed");
  EXPECT_EQ(of("bf16: true\nfsdp: shard_grad_op", 8), "bf16 on fsdp2");
  EXPECT_EQ(of("torch_dtype: bfloat16\nfsdp: full_shard", 8), "bf16_states16 on library");
}

/// SGD and Muon are counted with a momentum; others are counted as AdamW.
TEST(trainer_launch, optimizers) {
  const std::string base = "per_device_train_batch_size: 1\nmax_length: 2048\nbf16: true\n";
  const auto of = [&](const std::string& more) { return plan(base + more, 8); };
  EXPECT_EQ(of("optim: adamw_torch").plan.optimizer, hp::optimizer_kind::adamw);
  EXPECT_EQ(of("optim: sgd").plan.optimizer, hp::optimizer_kind::sgd);
  EXPECT_EQ(of("optim: sgd").unheeded,
            std::vector<std::string>{"optim sgd (line 4): a momentum is counted, which this run has not"});
  const launch::launch_plan sgd =
      of("deepspeed: {zero_optimization: {stage: 1}, optimizer: {type: SGD, params: {momentum: 0.9}}}");
  EXPECT_EQ(sgd.plan.optimizer, hp::optimizer_kind::sgd);
  EXPECT_TRUE(sgd.unheeded.empty());
  const launch::launch_plan muon = of("deepspeed: {zero_optimization: {stage: 1}, optimizer: {type: Muon}}");
  EXPECT_EQ(muon.plan.optimizer, hp::optimizer_kind::muon);
  EXPECT_EQ(muon.unheeded, std::vector<std::string>{"deepspeed.optimizer.type Muon (line 4): states of matrices are "
                                                    "counted whole on every device"});
  EXPECT_EQ(of("optim: adafactor").plan.optimizer, hp::optimizer_kind::adamw);
  EXPECT_EQ(of("optim: adafactor").unheeded, std::vector<std::string>{"optim adafactor (line 4): AdamW is taken"});
}

/// States in the host's memory: of ZeRO, and of stage 3 in part.
TEST(trainer_launch, states_on_the_host) {
  const std::string base = "per_device_train_batch_size: 1\nmax_length: 2048\nbf16: true\n";
  const auto of = [&](const std::string& stage, const std::string& offload) {
    return plan(base + "deepspeed: {zero_optimization: {stage: " + stage + ", offload_optimizer: {" + offload + "}}}",
                8);
  };
  EXPECT_EQ(of("2", "device: cpu").plan.host_states, 1000);
  EXPECT_TRUE(of("2", "device: cpu").unheeded.empty());
  EXPECT_EQ(of("2", "device: cpu, ratio: 0.3").plan.host_states, 1000);
  EXPECT_EQ(of("3", "device: cpu, ratio: 0.3").plan.host_states, 300);
  EXPECT_EQ(of("3", "device: none").plan.host_states, 0);
  EXPECT_EQ(of("0", "device: cpu").plan.host_states, 0);
  EXPECT_EQ(of("3", "device: nvme").unheeded,
            std::vector<std::string>{"deepspeed.zero_optimization.offload_optimizer.device nvme (line 4): states are "
                                     "taken to be on the device"});
  EXPECT_EQ(
      complaint(base + "deepspeed: {zero_optimization: {stage: 3, offload_optimizer: {device: cpu, ratio: 2}}}"),
      "cannot read 'run.yaml': line 4: deepspeed.zero_optimization.offload_optimizer.ratio 2: expected a share from 0 "
      "to 1");
}

/// The Trainer's default of resharding is off, accelerate's is on.
TEST(trainer_launch, stages_of_fsdp) {
  const std::string base = "max_length: 2048\nper_device_train_batch_size: 1\nbf16: true\n";
  const auto of = [&](const std::string& more) { return plan(base + more, 16).plan; };
  EXPECT_EQ(of("fsdp: full_shard").zero, 3);
  EXPECT_EQ(of("fsdp: [shard_grad_op, auto_wrap]").zero, 2);
  EXPECT_EQ(of("fsdp: no_shard").zero, 0);
  EXPECT_EQ(of("fsdp: true\nfsdp_config: {version: 2}").zero, 2);
  EXPECT_EQ(of("fsdp: true\nfsdp_config: {version: 2, reshard_after_forward: true}").zero, 3);
  EXPECT_EQ(of("distributed_type: FSDP\nfsdp_config: {fsdp_version: 2}").zero, 3);
  EXPECT_EQ(of("distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: 2}").zero, 2);
  EXPECT_EQ(of("distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: HYBRID_SHARD}\nnum_machines: 4").copies,
            4);
  EXPECT_EQ(of("fsdp: hybrid_shard_zero2").copies, 2) << "nodes of eight";
  EXPECT_EQ(of("distributed_type: FSDP\nfsdp_config: {fsdp_version: 2}\nparallelism_config: "
               "{parallelism_config_dp_replicate_size: 8}")
                .copies,
            8);
  EXPECT_EQ(of("distributed_type: DEEPSPEED\ndeepspeed_config: {gradient_accumulation_steps: 2}").zero, 2);
}

TEST(trainer_launch, what_contradicts_is_one_line_with_file_line_and_option) {
  const std::string begin = "cannot read 'run.yaml': ", base = "max_length: 2048\nper_device_train_batch_size: 2\n";
  EXPECT_EQ(
      complaint(base + "deepspeed:\n  train_batch_size: 24\n  gradient_accumulation_steps: 2"),
      begin + "line 4: deepspeed.train_batch_size 24: is not 2 sequences of a device x 2 accumulations x 8 devices");
  EXPECT_EQ(
      complaint(base + "deepspeed: {train_micro_batch_size_per_gpu: 4}"),
      begin + "line 3: deepspeed.train_micro_batch_size_per_gpu 4: contradicts per_device_train_batch_size 2 (line 2)");
  EXPECT_EQ(complaint("{\"train_batch_size\": 20}", 8, 64),
            begin + "line 1: train_batch_size 20: is no multiple of 8 devices");
  EXPECT_EQ(complaint(base + "bf16: true\nfp16: true"), begin + "line 4: fp16 true: contradicts bf16 true (line 3)");
  EXPECT_EQ(complaint(base + "fp16: true\ndeepspeed: {bf16: {enabled: true}}"),
            begin + "line 4: deepspeed.bf16.enabled true: contradicts fp16 true (line 3)");
  EXPECT_EQ(complaint(base + "fsdp: full_shard\ndeepspeed: {zero_optimization: {stage: 3}}"),
            begin + "line 3: fsdp full_shard: contradicts DeepSpeed, of line 4");
  EXPECT_EQ(complaint(base + "fsdp: full_shard shard_grad_op"),
            begin + "line 3: fsdp full_shard shard_grad_op: shard_grad_op contradicts full_shard");
  EXPECT_EQ(complaint(base + "fsdp: whole"), begin +
                                                 "line 3: fsdp whole: known: full_shard, shard_grad_op, "
                                                 "hybrid_shard, hybrid_shard_zero2, no_shard, offload, auto_wrap");
  EXPECT_EQ(complaint(base + "fsdp: true\nfsdp_config: {version: 3}"),
            begin + "line 4: fsdp_config.version 3: known: 1, 2");
  EXPECT_EQ(complaint(base + "bf16: maybe"), begin + "line 3: bf16 maybe: expected true or false");
  EXPECT_EQ(complaint(base + "deepspeed: {zero_optimization: {stage: 4}}"),
            begin + "line 3: deepspeed.zero_optimization.stage 4: known: 0 to 3");
  EXPECT_EQ(complaint(base + "per_device_train_batch_size: 3"),
            begin + "line 3: per_device_train_batch_size 3: stands twice; it is in line 2, too");
  EXPECT_EQ(
      complaint("per_device_train_batch_size: 2"),
      begin + "it says no length of sequences (cutoff_len, max_seq_length, max_length, block_size); --sequence does");
  EXPECT_EQ(complaint("hidden_size: 4096"),
            begin + "none of its names is one of the Trainer, LLaMA-Factory, DeepSpeed or accelerate");
  EXPECT_EQ(complaint(base + "num_processes: 4"), begin + "line 3: num_processes 4: --devices is 8");
  EXPECT_EQ(complaint(base + "deepspeed: {tensor_parallel: {autotp_size: 4}}"),
            begin + "line 3: deepspeed.tensor_parallel.autotp_size 4: known: 1, where every device is a data rank");
  EXPECT_EQ(complaint(base + "deepspeed: none.json"),
            begin + "line 3: deepspeed none.json: cannot read 'none.json': No such file or directory");
  EXPECT_EQ(complaint(base + "finetuning_type: some"),
            begin + "line 3: finetuning_type some: known: full, freeze, lora");
  EXPECT_EQ(complaint(base + "deepspeed: {zero_optimization: {stage: 2, mics_shard_size: 4}}"),
            begin + "line 3: deepspeed.zero_optimization.mics_shard_size 4: groups of shards are of stage 3");
}

TEST(trainer_launch, of_a_script_the_last_one_counts) {
  const launch::launch_plan l =
      of_script("x.py --per_device_train_batch_size 1 --max_length 64\n--max_length 128 --bf16", 2);
  EXPECT_EQ(l.plan.sequence, 128);
  EXPECT_EQ(l.notes, names{"--max_length stands twice; that of line 2 counts"});
  EXPECT_EQ(of_script("deepspeed --num_gpus 2 x.py --per_device_train_batch_size 1 --deepspeed "
                      "'{\"zero_optimization\": {\"stage\": 1}}'",
                      2, 64)
                .plan.zero,
            1);
  EXPECT_EQ(tested::error_of<hp::io_error>([&] { of_script("x.py --deepspeed $CONFIG --max_length 64", 8); }),
            "cannot read 'run.sh': line 1: deepspeed $CONFIG: the file does not say what $CONFIG is");
  EXPECT_EQ(tested::error_of<hp::io_error>(
                [&] { of_script("deepspeed --num_gpus 8 --num_nodes 2 x.py --per_device_train_batch_size 1", 8, 64); }),
            "cannot read 'run.sh': line 1: --num_gpus 8: with 2 nodes these are 16 devices; --devices is 8");
}

/// Names and values of these frameworks in any order: a plan that check_plan has an answer to, or one line.
TEST(trainer_launch, any_values_are_read_to_their_end) {
  std::mt19937 random(17);
  const std::string keys[] = {"per_device_train_batch_size",
                              "gradient_accumulation_steps",
                              "cutoff_len",
                              "bf16",
                              "fp16",
                              "optim",
                              "fsdp",
                              "fsdp_config.version",
                              "fsdp_config.reshard_after_forward",
                              "deepspeed.zero_optimization.stage",
                              "deepspeed.train_batch_size",
                              "deepspeed.bf16.enabled",
                              "deepspeed.zero_optimization.mics_shard_size",
                              "lora_rank",
                              "lora_target",
                              "finetuning_type",
                              "gradient_checkpointing",
                              "num_machines",
                              "torch_dtype",
                              "distributed_type",
                              "zero_optimization.stage"};
  const std::string values[] = {"1",          "2",
                                "0",          "-1",
                                "true",       "false",
                                "auto",       "none",
                                "full_shard", "hybrid_shard",
                                "lora",       "full",
                                "1048576",    "99999999999",
                                "1e9",        "",
                                "\n",         "adamw_bnb_8bit",
                                "FSDP",       "q_proj, v_proj",
                                "bfloat16"};
  int read = 0;
  for (int n = tested::tries(4000, 100000); n > 0; --n) {
    std::vector<launch::launch_option> options;
    for (int k = static_cast<int>(random() % 8); k >= 0; --k) {
      options.push_back({keys[random() % std::size(keys)], {}, k + 1});
      for (int v = static_cast<int>(random() % 8); v > 5 || (v > 0 && options.back().values.empty()); --v)
        options.back().values.push_back(values[random() % std::size(values)]);
    }
    try {
      const launch::launch_plan l = launch::plan_of_trainer(options, "x", launch::launch_form::script, 16, 64);
      static_cast<void>(hp::check_plan(model(), l.plan, 16));
      ++read;
    } catch (const hp::io_error& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    }
  }
  EXPECT_GT(read, 100);
}

}  // namespace
