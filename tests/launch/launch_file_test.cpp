// SPDX-License-Identifier: Apache-2.0
// Launch files are told apart, read as the plans that their frameworks run, and written back with the same meaning.
#include "launch/launch_file.hpp"

#include "launch/toml_options.hpp"
#include "launch/torchtitan_launch.hpp"

#include <hyperparallel/planner/plan_check.hpp>
#include <hyperparallel/planner/stack.hpp>

#include <layers/decoder_shapes.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "support/error_of.hpp"

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;

namespace {

using texts = std::vector<std::string>;

TEST(launch_file, frameworks_are_found_by_their_name) {
  for (const launch::launch_framework& f : launch::launch_frameworks) EXPECT_EQ(launch::find_framework(f.name), &f);
  EXPECT_EQ(launch::find_framework("nobody"), nullptr);
}

TEST(launch_file, a_file_that_is_not_there) {
  for (const char* name : {"nowhere.sh", "nowhere.toml"}) try {
      launch::read_launch_file(name, hp::test::llama3_8b, 8);
      FAIL();
    } catch (const hp::io_error& e) {
      EXPECT_NE(std::string(e.what()).find(std::string("cannot read '") + name + "'"), std::string::npos) << e.what();
    }
}

constexpr hp::decoder llama3(int layers, int hidden, int heads, int width) {
  hp::decoder d = hp::test::llama3_8b;
  d.layers = layers;
  d.hidden = hidden;
  d.attention.query_heads = heads;
  d.feed_forward.width = width;
  return d;
}
const hp::decoder llama3_70b = llama3(80, 8192, 64, 28672), llama3_405b = llama3(126, 16384, 128, 53248);
hp::decoder deepseek_16b() {
  hp::decoder d = hp::test::deepseek_v3;
  d.vocabulary = 102400;
  d.hidden = 2048;
  d.layers = 27;
  d.latent_attention.heads = 16;
  d.latent_attention.query_rank = 0;
  d.feed_forward.width = 10944;
  d.experts.experts = 64;
  d.experts.top_k = 6;
  d.experts.width = 1408;
  d.experts.shared_width = 2816;
  d.sparse.first = 1;
  d.prediction_modules = 0;
  return d;
}

/// Public configurations of torchtitan: what each means, and what of it no figure heeds.
TEST(launch_file, toml_files_of_torchtitan) {
  const char* const own = std::getenv("HYPERPARALLEL_OWN_VECTORS");  // ctest sets it
  ASSERT_NE(own, nullptr);
  const hp::plan_formats bf16 = hp::find_formats("bf16")->formats, fp8 = hp::find_formats("fp8")->formats;
  const int interleaved = hp::schedule_place<hp::interleaved_1f1b>;
  const struct {
    const char* name;
    hp::decoder model;
    int devices;
    hp::decoder_plan plan;
    const char* stack;
    texts unheeded;
  } files[] = {
      {"llama3_8b",
       hp::test::llama3_8b,
       64,
       {.dp = 64, .zero = 3, .recomputed = true, .selective = true, .formats = bf16, .batch = 64, .sequence = 8192},
       "fsdp2",
       {}},
      {"llama3_8b_hsdp",
       hp::test::llama3_8b,
       64,
       {.dp = 64, .zero = 2, .copies = 8, .micro_batches = 2, .formats = bf16, .batch = 256, .sequence = 8192},
       "fsdp2_compiled",
       {}},
      {"llama3_8b_context",
       hp::test::llama3_8b,
       8,
       {.cp = 8, .zero = 3, .recomputed = true, .formats = bf16, .batch = 1, .sequence = 131072},
       "fsdp2",
       {"parallelism.context_parallel_rotate_method alltoall (line 10)"}},
      {"llama3_70b",
       llama3_70b,
       64,
       {.tp = 8, .dp = 8, .zero = 3, .recomputed = true, .formats = bf16, .batch = 64, .sequence = 8192},
       "fsdp2",
       {}},
      {"llama3_405b",
       llama3_405b,
       128,
       {.tp = 8, .dp = 16, .zero = 3, .recomputed = true, .formats = fp8, .batch = 32, .sequence = 8192},
       "fsdp2_compiled",
       {"training.compile true (line 11): the loss is counted as not compiled",
        "parallelism.enable_async_tensor_parallel true (line 15)",
        "float8.enable_fsdp_float8_all_gather true (line 21)",
        "float8.precompute_float8_dynamic_scale_for_fsdp true (line 22)"}},
      {"llama3_405b_pipeline",
       llama3_405b,
       512,
       {.tp = 8,
        .pp = 8,
        .dp = 8,
        .zero = 2,
        .micro_batches = 32,
        .recomputed = true,
        .schedule = interleaved,
        .chunks = 2,
        .formats = bf16,
        .batch = 256,
        .sequence = 8192},
       "fsdp2",
       {}},
      {"deepseek_v3_16b",
       deepseek_16b(),
       64,
       {.dp = 8, .ep = 8, .zero = 3, .recomputed = true, .formats = bf16, .batch = 256, .sequence = 4096},
       "fsdp2",
       {"compile.enable true (line 15): the loss is counted as not compiled"}},
      {"deepseek_v3_671b",
       hp::test::deepseek_v3,
       256,
       {.tp = 8,
        .dp = 8,
        .ep = 4,
        .zero = 3,
        .recomputed = true,
        .selective = true,
        .experts_along_tp = true,
        .formats = bf16,
        .batch = 128,
        .sequence = 4096},
       "fsdp2",
       {"parallelism.expert_parallel_comm_backend deepep (line 11)"}},
      {"qwen3_30b_a3b",
       hp::test::qwen3_30b_a3b,
       32,
       {.tp = 2, .dp = 2, .ep = 8, .zero = 3, .copies = 2, .formats = bf16, .batch = 32, .sequence = 4096},
       "fsdp2",
       {"activation_checkpoint.selective_ac_option 2 (by default): every layer of so many is recomputed, counted as "
        "none"}},
  };
  for (const auto& f : files) {
    const launch::launch_plan l =
        launch::read_launch_file(std::string(own) + "/../launch/" + f.name + ".toml", f.model, f.devices);
    EXPECT_EQ(l.plan, f.plan) << f.name;
    EXPECT_STREQ(l.stack, f.stack) << f.name;
    EXPECT_NE(hp::find_stack(l.stack), nullptr);
    EXPECT_EQ(l.unheeded, f.unheeded) << f.name;
    EXPECT_TRUE(hp::check_plan(f.model, l.plan, f.devices).ok()) << f.name;
    for (const char* framework : {"torchtitan", "hyperparallel"}) {
      const launch::launch_framework& whose = *launch::find_framework(framework);
      const launch::launch_text w = whose.write(l.plan, f.model);
      EXPECT_TRUE(w.unsaid.empty()) << f.name << ": " << w.unsaid[0];
      std::string text;
      for (const std::string& line : w.lines) text += line + whose.line_end;
      EXPECT_EQ(launch::plan_of_torchtitan(launch::toml_options(text, "back"), "back", f.model, f.devices).plan, f.plan)
          << text;
    }
  }
}

/// What a file of that name and text says, or the error.
std::string told(const std::string& name, const std::string& text, hp::extent_t sequence = 0) {
  const std::string path =
      (std::filesystem::temp_directory_path() / (std::to_string(::getpid()) + "." + name)).string();
  std::ofstream(path) << text;
  std::string out;
  const std::string error = tested::error_of<hp::io_error>([&] {
    const launch::launch_plan l = launch::read_launch_file(path, hp::test::llama3_8b, 8, sequence);
    out = std::to_string(l.plan.sequence) + " on " + l.stack;
  });
  std::filesystem::remove(path);
  return out.empty() ? error.substr(error.find("': ") + 3) : out;
}

TEST(launch_file, names_and_contents_say_whose_it_is) {
  const std::string trainer = "per_device_train_batch_size: 1\nmax_length: 64\nfsdp: full_shard\nbf16: true\n";
  EXPECT_EQ(told("a.yaml", trainer), "64 on fsdp2");
  EXPECT_EQ(told("a.yml", trainer), "64 on fsdp2");
  EXPECT_EQ(told("a.json", "{\"per_device_train_batch_size\": 1, \"max_length\": 64}"), "64 on library");
  EXPECT_EQ(told("a.sh", "x.py --per_device_train_batch_size 1 --max_length 64"), "64 on library");
  EXPECT_EQ(told("a.sh", "x.py --deepspeed --deepspeed_config '{\"bf16\": {\"enabled\": true}}' --max_length 64"),
            "64 on deepspeed");
  EXPECT_EQ(told("a.sh", "x.py --deepspeed --tensor-model-parallel-size 2 --seq-length 64"), "64 on megatron");
  EXPECT_EQ(told("a.sh", "x.py --seq-length 64"), "64 on megatron");
}

TEST(launch_file, a_sequence_that_is_asked_for_is_that_of_a_file_that_says_none) {
  EXPECT_EQ(told("b.sh", "x.py --seq-length 64", 128), "64 on megatron");
  EXPECT_EQ(told("b.sh", "x.py --bf16", 128), "128 on megatron");
  EXPECT_EQ(told("b.sh", "x.py --bf16"), "--seq-length is missing");
  EXPECT_EQ(told("b.json", "{\"train_batch_size\": 8}", 128), "128 on deepspeed");
  EXPECT_EQ(told("b.yaml", "max_length: 64\nbf16: true\ngradient_checkpointing: true", 128), "64 on transformers_amp");
}

}  // namespace
