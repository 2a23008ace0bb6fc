// SPDX-License-Identifier: Apache-2.0
// Configurations of MindFormers with public numbers mean what its pages say.
#include "launch/mindformers_launch.hpp"

#include "launch/launch_file.hpp"
#include "launch/yaml_options.hpp"

#include <hyperparallel/planner/plan_check.hpp>

#include <layers/decoder_shapes.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "support/error_of.hpp"
#include "support/tries.hpp"

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;

namespace {

std::string folder() {
  const char* const own = std::getenv("HYPERPARALLEL_OWN_VECTORS");  // ctest sets it
  return std::string(own != nullptr ? own : "tests/vectors") + "/../launch/mindformers/";
}
launch::launch_plan plan(const std::string& text, const hp::decoder& d, int devices, hp::extent_t sequence = 0) {
  return launch::plan_of_mindformers(launch::yaml_options_of(text, "run.yaml"), "run.yaml", d, devices, sequence);
}
std::string complaint(const std::string& text, int devices = 8, const hp::decoder& d = hp::test::llama3_8b) {
  return tested::error_of<hp::io_error>([&] { plan(text, d, devices); });
}

std::string meaning(const launch::launch_plan& l) {
  const hp::decoder_plan& p = l.plan;
  std::string out;
  for (const hp::plan_degree& degree : hp::plan_degrees)
    if (p.*degree.of > 1) out += std::string(degree.name) + "=" + std::to_string(p.*degree.of) + " ";
  out += "zero=" + std::to_string(p.zero);
  if (p.copies > 1) out += " copies=" + std::to_string(p.copies);
  if (p.chunks > 1) out += " chunks=" + std::to_string(p.chunks);
  if (p.experts_along_tp) out += " along tp";
  if (p.sequence_parallel) out += " sp";
  if (p.recomputed) out += p.selective ? " selective" : " recompute";
  if (p.optimizer == hp::optimizer_kind::muon) out += " muon";
  out += " " + std::to_string(p.batch) + "x" + std::to_string(p.sequence) + " in " + std::to_string(p.micro_batches);
  return out + " " + hp::name_of(p.formats);
}

TEST(mindformers_launch, files_mean_what_their_pages_say) {
  const hp::decoder experts = hp::test::llama3_8b_with_experts(64, 1024);
  const struct {
    const char* name;
    hp::decoder model;
    int devices;
    const char* meaning;
    std::vector<std::string> unheeded;
  } files[] = {
      {"llama3_70b",
       hp::test::llama3_8b,
       64,
       "tp=8 pp=8 zero=1 sp selective 256x8192 in 256 f32",
       {"model.model_config.fine_grain_interleave 2 (line 35)", "parallel_config.vocab_emb_dp True (line 18)",
        "recompute_config.mp_comm_recompute False (line 25)"}},
      {"qwen2_7b",
       hp::test::llama3_8b,
       16,
       "tp=4 pp=2 dp=2 zero=0 4x4096 in 2 bf16",
       {"parallel_config.vocab_emb_dp True (line 16)"}},
      {"gpt2_13b",
       hp::test::llama3_8b,
       32,
       "tp=2 pp=4 dp=4 zero=1 recompute 96x2048 in 24 f32",
       {"parallel_config.vocab_emb_dp True (line 18)", "recompute_config.mp_comm_recompute True (line 11)",
        "recompute_config.recompute_slice_activation True (line 12)"}},
      {"llama_7b",
       hp::test::llama3_8b,
       8,
       "pp=4 dp=2 zero=1 recompute 128x2048 in 16 bf16",
       {"context.max_device_memory 31GB (line 19)",
        "parallel.parallel_optimizer_config.gradient_accumulation_shard False (line 9)",
        "parallel.parallel_optimizer_config.parallel_optimizer_threshold 64 (line 10)"}},
      {"copies_of_states", hp::test::llama3_8b, 8, "tp=2 dp=4 zero=2 copies=2 16x4096 in 1 f32", {}},
      {"experts_of_16",
       experts,
       16,
       "tp=8 ep=2 zero=1 along tp sp muon 2x4096 in 1 f32",
       {"parallel.enable_alltoall True (line 14)", "parallel_config.ulysses_degree_in_cp 1 (line 8)"}},
      {"anchored", hp::test::llama3_8b, 32, "tp=8 dp=4 zero=0 8x4096 in 1 f32", {}},
      {"interleaved",
       hp::test::llama3_8b,
       8,
       "tp=2 pp=4 zero=0 chunks=2 recompute 8x8192 in 8 f32",
       {"model.model_config.offset 0 1 0 -1 (line 20): layers are dealt evenly",
        "recompute_config.recompute 3 2 1 0 (line 13): recomputation is taken to be of every layer"}},
  };
  for (const auto& file : files) {
    const launch::launch_plan l = launch::read_launch_file(folder() + file.name + ".yaml", file.model, file.devices);
    EXPECT_EQ(meaning(l), file.meaning) << file.name;
    EXPECT_EQ(l.unheeded, file.unheeded) << file.name;
    EXPECT_TRUE(hp::check_plan(file.model, l.plan, file.devices).ok()) << file.name;
  }
}

TEST(mindformers_launch, the_parallel_optimizer_is_zero) {
  const std::string base = "parallel_config: {data_parallel: 8}\nmodel: {model_config: {seq_length: 64}}\n";
  const auto zero = [&](const std::string& more) { return plan(base + more, hp::test::llama3_8b, 8).plan.zero; };
  EXPECT_EQ(zero(""), 0);
  EXPECT_EQ(zero("parallel: {enable_parallel_optimizer: False}"), 0);
  EXPECT_EQ(zero("parallel: {enable_parallel_optimizer: True}"), 1);
  for (int level = 1; level <= 3; ++level)
    EXPECT_EQ(zero("parallel: {enable_parallel_optimizer: True, parallel_optimizer_config: {optimizer_level: level" +
                   std::to_string(level) + "}}"),
              level);
  EXPECT_EQ(zero("parallel: {enable_parallel_optimizer: True}\n"
                 "recompute_config: {parallel_optimizer_comm_recompute: True}"),
            3);
}

TEST(mindformers_launch, what_contradicts_is_one_line) {
  const std::string at = "cannot read 'run.yaml': line 1: parallel_config.";
  const std::string model = "\nmodel: {model_config: {seq_length: 64}}\n";
  EXPECT_EQ(complaint("parallel_config: {data_parallel: 2, model_parallel: 3}" + model),
            at + "data_parallel 2: data_parallel=2 x model_parallel=3 x pipeline_stage=1 x context_parallel=1 are 6 "
                 "devices; --devices is 8");
  EXPECT_EQ(complaint("parallel_config: {data_parallel: x}" + model),
            at + "data_parallel x: expected a whole number from 1 to 1048576");
  EXPECT_EQ(complaint("parallel_config: {data_parallel: 8, data_parallel: 4}" + model),
            at + "data_parallel 4: stands twice; it is in line 1, too");
  EXPECT_EQ(complaint("parallel_config: {data_parallel: 8, expert_parallel: 4}" + model),
            at + "expert_parallel 4: the config.json has no experts");
  EXPECT_EQ(complaint("parallel_config: {data_parallel: 8}"),
            "cannot read 'run.yaml': model.model_config.seq_length is missing");
  EXPECT_EQ(complaint("parallel_config: {data_parallel: 8, use_seq_parallel: maybe}" + model),
            at + "use_seq_parallel maybe: expected True or False");
  EXPECT_EQ(plan("parallel_config: {data_parallel: 8}", hp::test::llama3_8b, 8, 128).plan.sequence, 128);
}

/// Whatever stands in a file, it is read or refused.
TEST(mindformers_launch, any_file) {
  std::mt19937 random(11);
  const std::string names[] = {"data_parallel",   "model_parallel",  "pipeline_stage",  "context_parallel",
                               "expert_parallel", "micro_batch_num", "use_seq_parallel"};
  const std::string values[] = {"0", "1", "2", "8", "True", "null", "[]", "[1, 2]", "x", "99999999999", "{a: 1}"};
  for (int n = tested::tries(500, 20000); n > 0; --n) {
    std::string text = "parallel_config:\n";
    for (const std::string& name : names)
      if (random() % 2 == 0) text += "  " + name + ": " + values[random() % std::size(values)] + "\n";
    text += "model: {model_config: {seq_length: " + values[random() % std::size(values)] +
            ", pp_interleave_num: " + values[random() % std::size(values)] + "}}\n";
    const hp::decoder d = random() % 2 == 0 ? hp::test::llama3_8b : hp::test::llama3_8b_with_experts(8, 64);
    complaint(text, 8, d);
  }
}

}  // namespace
