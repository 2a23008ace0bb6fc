// SPDX-License-Identifier: Apache-2.0
// Whole launch lines of public models (tests/launch) mean what their numbers say, and are said again with the same meaning.
#include "launch/launch_file.hpp"
#include "launch/launch_options.hpp"
#include "launch/megatron_launch.hpp"
#include "launch/megatron_words.hpp"

#include <hyperparallel/planner/plan_check.hpp>

#include <layers/decoder_shapes.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;

namespace {

std::string path_of(const std::string& name) {
  const char* const own = std::getenv("HYPERPARALLEL_OWN_VECTORS");  // ctest sets it
  return std::string(own != nullptr ? own : "tests/vectors") + "/../launch/" + name;
}

hp::decoder llama(int layers, int hidden, int heads, int width) {
  hp::decoder d = hp::test::llama3_8b;
  d.layers = layers;
  d.hidden = hidden;
  d.attention.query_heads = heads;
  d.feed_forward.width = width;
  return d;
}
hp::decoder mixtral(int layers, int hidden, int heads, int width) {
  hp::decoder d = llama(layers, hidden, heads, width);
  d.vocabulary = 32000;
  d.has_experts = true;
  d.experts.experts = 8;
  d.experts.top_k = 2;
  d.experts.width = width;
  return d;
}
hp::decoder gpt3_175b() {
  hp::decoder d = hp::test::gpt2;
  d.hidden = 12288;
  d.layers = 96;
  d.attention.query_heads = d.attention.key_heads = 96;
  d.attention.head_dim = 128;
  d.feed_forward.width = 4 * d.hidden;
  d.positions = 2048;
  return d;
}
hp::decoder qwen3_235b_a22b() {
  hp::decoder d = hp::test::qwen3_30b_a3b;
  d.hidden = 4096;
  d.layers = 94;
  d.attention.query_heads = 64;
  d.experts.width = 1536;
  return d;
}

struct line {
  const char* file;
  hp::decoder model;
  hp::decoder_plan plan;  ///< devices are the product of its degrees
  std::vector<std::string> unheeded;
};

const int interleaved = static_cast<int>(hp::schedule_called("Interleaved1F1B") - hp::schedule_table.item);
const hp::plan_formats f32{}, bf16 = hp::find_formats("bf16")->formats,
                              sums16 = hp::find_formats("bf16_sums16")->formats;

std::vector<line> lines() {
  hp::plan_formats fp8 = hp::find_formats("fp8_weights8")->formats, deepseek = sums16;
  fp8.sum = deepseek.moment = hp::data_type::bf16;
  return {
      {"gpt3_175b.sh",
       gpt3_175b(),
       {.tp = 8,
        .pp = 16,
        .dp = 8,
        .micro_batches = 192,
        .sequence_parallel = false,
        .formats = sums16,
        .batch = 1536,
        .sequence = 2048},
       {"--rampup-batch-size 16 16 5859375 (line 9)"}},
      {"llama3_8b_fp8.sh",
       hp::test::llama3_8b,
       {.dp = 8,
        .zero = 1,
        .micro_batches = 16,
        .sequence_parallel = false,
        .formats = fp8,
        .batch = 128,
        .sequence = 8192},
       {"--cross-entropy-loss-fusion (line 13)", "--fp8-amax-history-len 1024 (line 18)",
        "--overlap-grad-reduce (line 15)", "--overlap-param-gather (line 15)"}},
      {"llama3_70b.sh",
       llama(80, 8192, 64, 28672),
       {.tp = 4,
        .pp = 4,
        .dp = 4,
        .zero = 1,
        .micro_batches = 64,
        .schedule = interleaved,
        .chunks = 4,
        .formats = bf16,
        .batch = 256,
        .sequence = 8192},
       {"--overlap-grad-reduce (line 25)"}},
      {"llama31_405b.sh",
       llama(126, 16384, 128, 53248),
       {.tp = 8,
        .pp = 8,
        .dp = 8,
        .cp = 2,
        .zero = 1,
        .micro_batches = 192,
        .schedule = interleaved,
        .chunks = 8,
        .formats = sums16,
        .batch = 1536,
        .sequence = 8192},
       {"--account-for-embedding-in-pipeline-split (line 13)", "--account-for-loss-in-pipeline-split (line 13)",
        "--overlap-grad-reduce (line 13)", "--overlap-param-gather (line 13)", "--tp-comm-overlap (line 13)"}},
      {"mixtral_8x7b.args",
       mixtral(32, 4096, 32, 14336),
       {.tp = 2,
        .pp = 4,
        .dp = 4,
        .ep = 4,
        .zero = 1,
        .micro_batches = 16,
        .experts_along_tp = true,
        .formats = bf16,
        .batch = 256,
        .sequence = 4096},
       {"--moe-grouped-gemm (line 7)", "--moe-token-dispatcher-type alltoall (line 8)"}},
      {"mixtral_8x22b.sh",
       mixtral(56, 6144, 48, 16384),
       {.dp = 8,
        .ep = 8,
        .zero = 1,
        .micro_batches = 4,
        .recomputed = true,
        .sequence_parallel = false,
        .formats = bf16,
        .batch = 256,
        .sequence = 8192},
       {"--moe-grouped-gemm (line 22)"}},
      {"deepseek_v3.sh",
       hp::test::deepseek_v3,
       {.tp = 2,
        .pp = 16,
        .ep = 32,
        .zero = 1,
        .micro_batches = 128,
        .experts_along_tp = true,
        .formats = deepseek,
        .batch = 4096,
        .sequence = 4096},
       {"--moe-permute-fusion (line 12)", "--moe-token-dispatcher-type flex (line 12)",
        "--mtp-num-layers 1 (line 22)"}},
      {"qwen3_30b_a3b.args",
       hp::test::qwen3_30b_a3b,
       {.ep = 16,
        .zero = 1,
        .micro_batches = 64,
        .sequence_parallel = false,
        .formats = sums16,
        .batch = 1024,
        .sequence = 4096},
       {"--moe-grouped-gemm (line 11)", "--moe-token-dispatcher-type flex (line 12)"}},
      {"qwen3_235b_a22b.sh",
       qwen3_235b_a22b(),
       {.tp = 4,
        .pp = 16,
        .cp = 2,
        .ep = 2,
        .zero = 1,
        .micro_batches = 128,
        .experts_along_tp = true,
        .formats = bf16,
        .batch = 256,
        .sequence = 4096},
       {"--account-for-embedding-in-pipeline-split (line 14)", "--account-for-loss-in-pipeline-split (line 14)"}},
  };
}

TEST(megatron_lines, of_public_models_are_their_plans) {
  for (const line& l : lines()) {
    SCOPED_TRACE(l.file);
    const int devices = static_cast<int>(hp::device_count_of(l.plan));
    const launch::launch_plan read = launch::read_launch_file(path_of(l.file), l.model, devices);
    const hp::decoder_plan& p = read.plan;
    for (const hp::plan_degree& d : hp::plan_degrees) EXPECT_EQ(p.*d.of, l.plan.*d.of) << d.name;
    EXPECT_EQ(p.batch, l.plan.batch);
    EXPECT_EQ(p.micro_batches, l.plan.micro_batches);
    EXPECT_EQ(p.zero, l.plan.zero);
    EXPECT_EQ(p.recomputed, l.plan.recomputed);
    EXPECT_EQ(p.selective, l.plan.selective);
    EXPECT_EQ(p.formats, l.plan.formats);
    EXPECT_EQ(p.chunks, l.plan.chunks);
    EXPECT_EQ(p, l.plan);
    EXPECT_STREQ(read.framework, "megatron");
    EXPECT_EQ(read.unheeded, l.unheeded);
    EXPECT_EQ(read.notes, std::vector<std::string>{});
    hp::decoder padded = l.model;
    if (read.vocabulary > 0) padded.vocabulary = read.vocabulary;
    EXPECT_TRUE(hp::check_plan(padded, p, devices).ok());
  }
}

/// Said again, each line is one that means the same, whole.
TEST(megatron_lines, are_said_again_with_the_same_meaning) {
  for (const line& l : lines()) {
    SCOPED_TRACE(l.file);
    const int devices = static_cast<int>(hp::device_count_of(l.plan));
    const hp::decoder_plan p = launch::read_launch_file(path_of(l.file), l.model, devices).plan;
    const launch::launch_text said = launch::words_of_megatron(p, l.model);
    EXPECT_EQ(said.unsaid, std::vector<std::string>{});
    std::string text;
    for (const std::string& each : said.lines) text += each + "\n";
    const launch::launch_plan back =
        launch::plan_of_megatron(launch::launch_options_of(text), "words", l.model, devices);
    EXPECT_EQ(back.plan, p) << text;
    EXPECT_EQ(back.unheeded, std::vector<std::string>{});
  }
}

/// A line for other devices than there are contradicts them.
TEST(megatron_lines, of_other_devices_are_refused) {
  for (const line& l : lines()) {
    if (std::string(l.file).ends_with(".args")) continue;  // it has no torchrun
    const int devices = static_cast<int>(hp::device_count_of(l.plan));
    EXPECT_THROW(launch::read_launch_file(path_of(l.file), l.model, 2 * devices), launch::launch_contradiction)
        << l.file;
  }
}

}  // namespace
