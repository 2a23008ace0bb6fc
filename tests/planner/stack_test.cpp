// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/stack.hpp>

#include <hyperparallel/layers/decoder_parameters.hpp>

#include <gtest/gtest.h>

#include <layers/decoder_shapes.hpp>

#include "small_decoders.hpp"

namespace hp = hyperparallel;

namespace {

constexpr const hp::stack_rules& fsdp2 = *hp::find_stack("fsdp2");
static_assert(!hp::known_stacks[0].walked && fsdp2.walked && !fsdp2.compiled);
static_assert(!hp::find_stack("transformers")->sharded && hp::find_stack("transformers_amp")->autocast);
static_assert(hp::find_stack("deepspeed")->update_bytes == 12 && !hp::find_stack("deepspeed")->walked);
static_assert(hp::find_stack("fsdp2_compiled")->compiled && hp::find_stack("fsdp") == nullptr);

constexpr hp::decoder_plan on(int dp, int tp, int zero) {
  return {.tp = tp, .dp = dp, .zero = zero, .batch = dp, .sequence = 4096};
}
constexpr hp::stack_code code_of(const hp::decoder& d, const hp::decoder_plan& p) {
  return hp::check_stack(d, p, fsdp2);
}

static_assert(code_of(hp::test::llama3_8b, on(8, 1, 3)) == hp::stack_code::ok);
static_assert(code_of(hp::test::llama3_8b, on(8, 1, 2)) == hp::stack_code::ok);
static_assert(code_of(hp::test::llama3_8b, on(1, 1, 0)) == hp::stack_code::ok);
static_assert(code_of(hp::test::llama3_8b, on(8, 1, 1)) == hp::stack_code::replicates_parameters);
static_assert(code_of(hp::test::llama3_8b, on(2, 16, 3)) == hp::stack_code::replicates_keys);
static_assert(code_of(hp::test::deepseek_v3, on(8, 1, 3)) == hp::stack_code::has_latents);
static_assert(code_of(hp::test::qwen3_next, on(8, 1, 3)) == hp::stack_code::has_linear_attention);
static_assert(code_of(hp::test::qwen3_30b_a3b, on(8, 1, 3)) == hp::stack_code::ok);
static_assert(code_of(hp::test::qwen3_30b_a3b, on(4, 2, 3)) == hp::stack_code::has_experts);
static_assert(code_of(hp::test::qwen15_moe, on(8, 1, 3)) == hp::stack_code::has_experts);
constexpr hp::decoder_plan by(hp::optimizer_kind kind) {
  hp::decoder_plan p = on(8, 1, 3);
  p.optimizer = kind;
  return p;
}
static_assert(code_of(hp::test::llama3_8b, by(hp::optimizer_kind::sgd)) == hp::stack_code::updates_otherwise);
static_assert(code_of(hp::test::llama3_8b, by(hp::optimizer_kind::muon)) == hp::stack_code::updates_otherwise);
static_assert(hp::check_stack(hp::test::llama3_8b, by(hp::optimizer_kind::muon), *hp::find_stack("megatron")) ==
              hp::stack_code::ok);
/// MPT: LayerNorm, no gate, no rotation.
constexpr hp::decoder mpt() {
  hp::decoder d = hp::test::llama3_8b;
  d.norm = hp::norm_form::layer;
  d.form = hp::feed_forward_form::gelu;
  d.attention.rope_base = 0.0;
  return d;
}
static_assert(hp::check_stack(mpt(), on(8, 1, 3), *hp::find_stack("fsdp2")) == hp::stack_code::has_other_blocks);
static_assert(hp::check_stack(mpt(), on(8, 1, 3), *hp::find_stack("fsdp2"), hp::stack_question::time) ==
              hp::stack_code::ok);
static_assert(hp::check_stack(hp::test::gpt2, on(8, 1, 3), *hp::find_stack("fsdp2"), hp::stack_question::time) ==
              hp::stack_code::has_other_blocks);
static_assert(code_of(hp::test::gpt2, on(8, 1, 3)) == hp::stack_code::has_other_blocks);

// The library has rules for every plan; another stack for those of one stage.
TEST(Stack, HasNoRuleForOtherDegrees) {
  hp::decoder_plan p = on(4, 2, 3);
  EXPECT_EQ(code_of(hp::test::llama3_8b, p), hp::stack_code::ok);
  const auto with = [&](int hp::decoder_plan::* degree) {
    hp::decoder_plan other = p;
    other.*degree = 2;
    EXPECT_EQ(hp::check_stack(hp::test::llama3_8b, other, hp::known_stacks[0]), hp::stack_code::ok);
    return code_of(hp::test::llama3_8b, other);
  };
  EXPECT_EQ(with(&hp::decoder_plan::pp), hp::stack_code::has_stages);
  EXPECT_EQ(hp::check_stack(hp::test::llama3_8b, p, *hp::find_stack("transformers")),
            hp::stack_code::has_several_devices);
  EXPECT_EQ(hp::check_stack(hp::test::llama3_8b, {}, *hp::find_stack("transformers")), hp::stack_code::ok);
  p.sequence_parallel = false;
  EXPECT_EQ(code_of(hp::test::llama3_8b, p), hp::stack_code::keeps_sequences_whole);
  hp::decoder windowed = hp::test::llama3_8b;
  windowed.attention.window = 4096;
  EXPECT_EQ(code_of(windowed, on(4, 2, 3)), hp::stack_code::ok);
  hp::decoder deep = hp::test::llama3_8b;
  deep.layers = hp::detail::most_walked_layers;
  EXPECT_EQ(code_of(deep, on(4, 2, 3)), hp::stack_code::ok);
  ++deep.layers;
  EXPECT_EQ(code_of(deep, on(4, 2, 3)), hp::stack_code::has_many_layers);
  windowed.attention.window = 1024;
  EXPECT_EQ(code_of(windowed, on(4, 2, 3)), hp::stack_code::has_windows);
}

// Parameters of all groups are those of the decoder; shards of all ranks hold them, padded.
TEST(Stack, ParametersAreThoseOfTheDecoder) {
  int walked = 0;
  std::vector<hp::decoder> decoders = small_decoders::all();
  decoders.push_back(hp::test::llama3_8b);
  decoders.push_back(hp::test::qwen25_0_5b);
  for (const hp::decoder& d : decoders) {
    if (code_of(d, {.sequence = 8}) != hp::stack_code::ok) continue;
    ++walked;
    const hp::stack_sizes s(d, {.sequence = 8}, fsdp2);
    hp::extent_t sum = 0;
    for (const hp::stack_parameter& p : s.block()) sum += s.layers * p.elements();
    for (const hp::stack_parameter& p : s.root()) sum += p.elements();
    EXPECT_EQ(sum, hp::parameters_of(d).total());
    for (const hp::extent_t ranks : {1, 2, 3, 7, 64})
      for (const hp::stack_parameter& p : s.block()) {
        EXPECT_GE(p.shard(ranks) * ranks, p.elements());
        EXPECT_LT((p.shard(ranks) * ranks - p.elements()) / p.columns, ranks);
      }
  }
  EXPECT_GE(walked, 3);
}

}  // namespace
