// SPDX-License-Identifier: Apache-2.0
// TOML files with public numbers mean what torchtitan's configuration says, and what contradicts is refused.
#include "launch/torchtitan_launch.hpp"

#include "launch/toml_options.hpp"

#include <hyperparallel/planner/plan_check.hpp>

#include <layers/decoder_shapes.hpp>
#include <support/error_of.hpp>
#include <support/tries.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;

namespace {

using texts = std::vector<std::string>;

launch::launch_plan plan(const std::string& text, const hp::decoder& d = hp::test::llama3_8b, int devices = 8) {
  return launch::plan_of_torchtitan(launch::toml_options(text, "run.toml"), "run.toml", d, devices);
}
launch::launch_plan parallelism(const std::string& text, const hp::decoder& d = hp::test::llama3_8b, int devices = 8) {
  return plan("[activation_checkpoint]\nmode = 'none'\n[training]\nlocal_batch_size = 1\n[parallelism]\n" + text, d,
              devices);
}
std::string complaint(const std::string& text, const hp::decoder& d = hp::test::llama3_8b, int devices = 8) {
  return tested::error_of<hp::io_error>([&] { plan(text, d, devices); });
}
std::string refused(const std::string& text, const hp::decoder& d = hp::test::llama3_8b, int devices = 8) {
  return complaint("[parallelism]\n" + text, d, devices);
}

hp::decoder moe() { return hp::test::llama3_8b_with_experts(8, 14336); }

TEST(torchtitan_launch, an_empty_file_has_the_frameworks_defaults) {
  const launch::launch_plan l = plan("");
  EXPECT_EQ(l.plan,
            (hp::decoder_plan{
                .dp = 8, .zero = 3, .formats = hp::find_formats("bf16")->formats, .batch = 64, .sequence = 2048}));
  EXPECT_STREQ(l.stack, "fsdp2");
  EXPECT_EQ(l.unheeded, texts{"activation_checkpoint.selective_ac_option 2 (by default): every layer of so many is "
                              "recomputed, counted as none"});
  EXPECT_TRUE(l.notes.empty());
}

TEST(torchtitan_launch, shards_and_their_copies) {
  EXPECT_EQ(parallelism("data_parallel_replicate_degree = 2").plan.copies, 2);
  EXPECT_EQ(parallelism("data_parallel_replicate_degree = 2").plan.dp, 8);
  EXPECT_EQ(parallelism("data_parallel_replicate_degree = 2").plan.zero, 3);
  EXPECT_EQ(parallelism("fsdp_reshard_after_forward = 'never'").plan.zero, 2);
  EXPECT_EQ(parallelism("pipeline_parallel_degree = 2").plan.zero, 2);
  EXPECT_EQ(parallelism("pipeline_parallel_degree = 2\nfsdp_reshard_after_forward = 'always'").plan.zero, 3);
  const launch::launch_plan whole = parallelism("data_parallel_replicate_degree = 8");
  EXPECT_EQ(whole.plan.zero, 0);
  EXPECT_EQ(whole.plan.copies, 1);
  EXPECT_EQ(whole.plan.dp, 8);
  EXPECT_EQ(whole.notes.size(), 1u);
  EXPECT_EQ(parallelism("context_parallel_degree = 8").plan.zero, 3) << "states are cut along context ranks";
  EXPECT_EQ(plan("[training]\ndata_parallel_degree = 4\ntensor_parallel_degree = 2").plan.dp, 4) << "older names";
}

TEST(torchtitan_launch, experts_lie_on_ranks_of_one_copy) {
  const auto of = [&](const std::string& more, int devices) { return parallelism(more, moe(), devices).plan; };
  hp::decoder_plan p = of("data_parallel_replicate_degree = 2\nexpert_parallel_degree = 4", 16);
  EXPECT_EQ(p.ep, 4);
  EXPECT_EQ(p.dp, 4);
  EXPECT_EQ(p.copies, 2);
  p = of("tensor_parallel_degree = 4\nexpert_parallel_degree = 8", 32);
  EXPECT_TRUE(p.experts_along_tp && !p.experts_along_cp);
  EXPECT_EQ(p.ep, 2);
  EXPECT_EQ(p.dp, 4);
  p = of("tensor_parallel_degree = 4\nexpert_parallel_degree = 8\nexpert_tensor_parallel_degree = 4", 32);
  EXPECT_FALSE(p.experts_along_tp);
  EXPECT_EQ(p.ep, 8);
  p = of("context_parallel_degree = 2\nexpert_parallel_degree = 4", 16);
  EXPECT_TRUE(p.experts_along_cp) << "all context ranks first";
  EXPECT_EQ(p.ep, 2);
  EXPECT_EQ(p.dp, 4);
}

TEST(torchtitan_launch, pipelines) {
  const auto of = [&](const std::string& more) {
    return plan(
        "[activation_checkpoint]\nmode = 'none'\n[training]\nlocal_batch_size = 16\n[parallelism]\n"
        "pipeline_parallel_degree = 4\n" +
        more);
  };
  EXPECT_EQ(of("").plan.micro_batches, 16);
  EXPECT_EQ(of("").plan.batch, 32);
  EXPECT_EQ(of("pipeline_parallel_microbatch_size = 4").plan.micro_batches, 4);
  EXPECT_STREQ(hp::schedule_of(of("pipeline_parallel_schedule = 'ZBVZeroBubble'").plan).name, "ZB-V");
  EXPECT_EQ(of("pipeline_parallel_schedule = 'Interleaved1F1B'").plan.chunks, 2);
  const std::string four =
      "pipeline_parallel_schedule = 'interleaved1f1b'\npipeline_parallel_first_stage_less_layers = 0\n"
      "pipeline_parallel_last_stage_less_layers = 0\npipeline_parallel_layers_per_stage = ";
  EXPECT_EQ(of(four + "2").plan.chunks, 4);
  EXPECT_TRUE(of(four + "2").notes.empty());
  EXPECT_EQ(of("").notes, texts{"layers of the stages: 8, 9, 8, 7; counted as 8, 8, 8, 8"});
  const launch::launch_plan twice = plan(
      "[activation_checkpoint]\nmode = 'none'\n[training]\nlocal_batch_size = 4\n"
      "global_batch_size = 32\n[parallelism]\npipeline_parallel_degree = 2");
  EXPECT_EQ(twice.plan.micro_batches, 8);
  EXPECT_EQ(twice.unheeded,
            texts{"training.global_batch_size 32 (line 5): the pipeline runs empty between 2 parts of a step"});
}

TEST(torchtitan_launch, recomputation_precision_and_stack) {
  const auto checkpoint = [&](const std::string& more) { return plan("[activation_checkpoint]\n" + more); };
  EXPECT_FALSE(checkpoint("mode = 'none'").plan.recomputed);
  EXPECT_TRUE(checkpoint("mode = 'full'").plan.recomputed);
  EXPECT_FALSE(checkpoint("mode = 'full'").plan.selective);
  EXPECT_TRUE(checkpoint("selective_ac_option = 'op'").plan.selective);
  EXPECT_TRUE(checkpoint("selective_ac_option = '1'").plan.recomputed);
  EXPECT_EQ(checkpoint("mode = 'memory_budget'").unheeded,
            texts{"activation_checkpoint.mode memory_budget (line 2): counted as none"});
  const std::string none = "[activation_checkpoint]\nmode = 'none'\n";
  EXPECT_STREQ(plan(none + "[compile]\nenable = true").stack, "fsdp2_compiled");
  EXPECT_EQ(plan(none + "[compile]\nenable = true").unheeded,
            texts{"compile.enable true (line 4): the loss is counted as not compiled"});
  EXPECT_STREQ(plan(none + "[compile]\nenable = true\ncomponents = ['loss']").stack, "fsdp2");
  const launch::launch_plan narrow = plan(none +
                                          "[model]\nconverters = ['quantize.linear.float8']\n"
                                          "[quantize.linear.float8]\nfilter_fqns = ['output', 'attention.wk']\n");
  EXPECT_STREQ(hp::name_of(narrow.plan.formats), "fp8");
  EXPECT_EQ(narrow.unheeded, texts{"quantize.linear.float8.filter_fqns output attention.wk (line 6)"});
  EXPECT_EQ(plan(none + "[model]\nconverters = 'float8, mine'").unheeded, texts{"model.converters mine (line 4)"});
  EXPECT_EQ(plan(none + "[float8]\nfilter_fqns = 'output'\nrecipe_name = 'rowwise'").unheeded, texts{})
      << "without the converter they say nothing";
  EXPECT_EQ(plan(none + "[model]\nconverters = ['quantize.linear.float8']", moe()).unheeded,
            texts{"model.converters quantize.linear.float8 (line 4): products of experts are counted in fp8, too"});
}

TEST(torchtitan_launch, what_changes_memory_or_time_is_named_and_the_rest_is_idle) {
  const launch::launch_plan l = plan(R"([activation_checkpoint]
mode = "none"
[training]
enable_cpu_offload = true
mixed_precision_param = "float32"
steps = 10
[optimizer]
name = "Muon"
lr = 1e-4
implementation = "foreach"
[checkpoint]
enable = true
[parallelism]
enable_async_tensor_parallel = true
context_parallel_rotate_method = "alltoall"
something_new = 3
)");
  EXPECT_EQ(l.unheeded, (texts{"training.enable_cpu_offload true (line 4)",
                               "training.mixed_precision_param float32 (line 5)", "optimizer.name Muon (line 8)",
                               "optimizer.implementation foreach (line 10)", "parallelism.something_new 3 (line 16)"}))
      << "without tensor and context ranks their keys say nothing";
}

TEST(torchtitan_launch, what_contradicts_is_one_line_with_file_line_and_key) {
  const std::string at = "cannot read 'run.toml': line 2: parallelism.";
  EXPECT_EQ(refused("tensor_parallel_degree = 3"),
            at + "tensor_parallel_degree 3: replicate=1 x tp=3 x pp=1 x cp=1 are 3 devices, of which 8 is no multiple");
  EXPECT_EQ(refused("data_parallel_shard_degree = 4"),
            at + "data_parallel_shard_degree 4: replicate=1 x shard=4 x tp=1 x pp=1 x cp=1 are not 8 devices");
  EXPECT_EQ(refused("tensor_parallel_degree = 'many'"),
            at + "tensor_parallel_degree many: expected a whole number from 1 to 1048576");
  EXPECT_EQ(refused("tensor_parallel_degree = [8, 4]"), at + "tensor_parallel_degree 8 4: expected one value");
  EXPECT_EQ(refused("fsdp_reshard_after_forward = 'often'"),
            at + "fsdp_reshard_after_forward often: known: default, always, never");
  EXPECT_EQ(
      refused("context_parallel_degree = 8\n[training]\nseq_len = 1000"),
      "cannot read 'run.toml': line 4: training.seq_len 1000: torchtitan refuses it: sequences of 1000 tokens do not "
      "divide by 2 x cp x tp, 16");
  EXPECT_EQ(refused("pipeline_parallel_degree = 2", hp::test::qwen25_0_5b),
            at + "pipeline_parallel_degree 2: torchtitan refuses it: embedding and head share a table");
  EXPECT_EQ(
      refused("pipeline_parallel_schedule = 'Mine'\npipeline_parallel_degree = 2"),
      at + "pipeline_parallel_schedule Mine: known: 1F1B, GPipe, Interleaved1F1B, LoopedBFS, InterleavedZeroBubble, "
           "ZBVZeroBubble, DualPipeV");
  EXPECT_EQ(refused("pipeline_parallel_schedule_csv = 'rows.csv'\npipeline_parallel_degree = 2"),
            at + "pipeline_parallel_schedule_csv rows.csv: schedules of a file are not read");
  EXPECT_EQ(refused("pipeline_parallel_microbatch_size = 3\npipeline_parallel_degree = 2"),
            at + "pipeline_parallel_microbatch_size 3: the local batch, 8, is no multiple of it");
  EXPECT_EQ(refused("pipeline_parallel_layers_per_stage = 8\npipeline_parallel_degree = 2"),
            at + "pipeline_parallel_layers_per_stage 8: makes 5 stages of 34 layers, embedding and head counted: no "
                 "multiple of pp=2");
  EXPECT_EQ(
      refused("pipeline_parallel_layers_per_stage = 9\npipeline_parallel_degree = 2"),
      at + "pipeline_parallel_layers_per_stage 9: makes 4 stages of 34 layers, embedding and head counted: 1F1B has "
           "one on each rank");
  EXPECT_EQ(refused("pipeline_parallel_first_stage_less_layers = 40\npipeline_parallel_degree = 2"),
            at +
                "pipeline_parallel_first_stage_less_layers 40: torchtitan refuses it: of 73 layers, embedding and head "
                "counted, 2 stages have too few");
  EXPECT_EQ(refused("expert_parallel_degree = 16", moe()),
            at + "expert_parallel_degree 16: ep=16 x etp=1 are 16 ranks, of which the 8 of a stage and copy are no "
                 "multiple");
  EXPECT_EQ(
      refused("context_parallel_degree = 4\nexpert_parallel_degree = 2", moe()),
      "cannot read 'run.toml': line 3: parallelism.expert_parallel_degree 2: known: an ep that is a multiple of cp, 4");
  EXPECT_EQ(
      complaint("[training]\nglobal_batch_size = 100"),
      "cannot read 'run.toml': line 2: training.global_batch_size 100: no multiple of local batch x data ranks, 8 x 8");
  EXPECT_EQ(
      complaint("[training]\nbatch_size = 1\nlocal_batch_size = 1"),
      "cannot read 'run.toml': line 2: training.batch_size 1: is the older name of training.local_batch_size in line "
      "3");
  EXPECT_EQ(complaint("[compile]\nenable = 'yes'"),
            "cannot read 'run.toml': line 2: compile.enable yes: expected true or false");
  EXPECT_EQ(
      complaint("[activation_checkpoint]\nmode = 'some'"),
      "cannot read 'run.toml': line 2: activation_checkpoint.mode some: known: none, selective, full, memory_budget");
  EXPECT_EQ(
      complaint("[activation_checkpoint]\nselective_ac_option = 'ops'"),
      "cannot read 'run.toml': line 2: activation_checkpoint.selective_ac_option ops: expected a whole number from 1 "
      "to 1048576");
}

/// A file with other bytes, keys or numbers here and there is a plan or one line that says why not, and ends.
TEST(torchtitan_launch, any_file) {
  const std::string whole = R"([training]
local_batch_size = 4
global_batch_size = 64
seq_len = 4096
compile = true
[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = -1
tensor_parallel_degree = 2
context_parallel_degree = 2
pipeline_parallel_degree = 1
pipeline_parallel_schedule = "Interleaved1F1B"
pipeline_parallel_layers_per_stage = 8
expert_parallel_degree = 4
expert_tensor_parallel_degree = 1
[activation_checkpoint]
mode = "selective"
selective_ac_option = "2"
[model]
converters = ["float8"]
[float8]
filter_fqns = ["output"]
)";
  const std::string pieces[] = {"0", "1", "2",  "3",  "8",     "16",    "-1",  "1048576", "99999999999999999999",
                                "'", "=", "[]", "[[", "true",  "false", "4.5", "\"\"",    "''",
                                "#", ",", "\n", "]",  "GPipe", "op"};
  std::mt19937 random(11);
  int read = 0, refused = 0;
  for (int n = tested::tries(5000, 100000); n > 0; --n) {
    std::string text = whole;
    for (int k = static_cast<int>(random() % 4) + 1; k > 0; --k) {
      const std::size_t at = random() % text.size(), length = random() % 4;
      text.replace(at, std::min(length, text.size() - at), pieces[random() % std::size(pieces)]);
    }
    for (int k = static_cast<int>(random() % 4); k > 0; --k) {  // another value
      std::size_t at = text.find(" = ", random() % text.size());
      if (at == std::string::npos) continue;
      at += 3;
      text.replace(at, std::min(text.find('\n', at), text.size()) - at, pieces[random() % std::size(pieces)]);
    }
    const hp::decoder model = n % 2 == 0 ? moe() : hp::test::llama3_8b;
    const int devices = n % 3 == 0 ? 8 : 64;
    try {
      const launch::launch_plan l = plan(text, model, devices);
      ++read;
      const hp::decoder_plan_code code = hp::check_plan(model, l.plan, devices).code;
      ASSERT_NE(code, hp::decoder_plan_code::degrees_are_not_the_devices) << text;
    } catch (const hp::io_error& e) {
      ++refused;
      ASSERT_EQ(std::string(e.what()).find_first_of("\n\r"), std::string::npos) << e.what();
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
