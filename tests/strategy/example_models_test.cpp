// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "../../examples/models/captioner.hpp"
#include "../../examples/models/deepseek_v3.hpp"
#include "../../examples/models/llama3_8b.hpp"
#include "../../examples/models/masked_diffusion.hpp"
#include "../../examples/models/qwen3_30b_a3b.hpp"
#include "../../examples/models/small_moe.hpp"
#include "layers/described.hpp"

namespace {

namespace hp = hyperparallel;
using namespace hp::test;
using strings = std::vector<std::string>;

struct sizes {
  hp::graph_code code = hp::graph_code::ok;
  hp::extent_t parameters = 0;
  hp::extent_t states = 0;
  friend constexpr bool operator==(const sizes&, const sizes&) = default;
};

constexpr sizes sizes_of(const hp::graph& g) {
  sizes s{g.status.code, hp::parameter_count(g), 0};
  for (const hp::graph_tensor& t : g.tensor)
    if (t.kind == hp::graph_tensor_kind::state) s.states += hp::elements_of(t) * hp::detail::repeats_of(g, t.segment);
  return s;
}

// The published parameter counts. DeepSeek-V3's 671 026 419 200 count the biases of 58 routers of 256 experts
// (e_score_correction_bias), which no gradient moves: here they are states, and the rest is parameters.
static_assert(sizes_of(hp::build_model<models::llama3_8b<1, 8192>>()) == sizes{hp::graph_code::ok, 8'030'261'248, 0});
static_assert(sizes_of(hp::build_model<models::qwen3_30b_a3b<1, 4096>>()) ==
              sizes{hp::graph_code::ok, 30'532'122'624, 0});
constexpr sizes deepseek = sizes_of(hp::build_model<models::deepseek_v3<1, 4096>>());
static_assert(deepseek == sizes{hp::graph_code::ok, 671'026'404'352, 58 * 256});
static_assert(deepseek.parameters + deepseek.states == 671'026'419'200);
static_assert(sizes_of(hp::build_model<models::small_moe<>>()).code == hp::graph_code::ok);

// Builds at run time: a call with constant arguments would be tried in a constant evaluation first.
template <class Model>
hp::graph built(bool unrolled) {
  hp::model_builder m({.unrolled = unrolled});
  Model::build(m);
  return m.graph;
}

template <class Model>
void expect_folded_equals_unrolled(const sizes& expected) {
  EXPECT_EQ(sizes_of(built<Model>(false)), expected);
  EXPECT_EQ(sizes_of(built<Model>(true)), expected);
}

TEST(ExampleModels, FoldedAndUnrolledCountAlike) {
  expect_folded_equals_unrolled<models::llama3_8b<2, 16>>({hp::graph_code::ok, 8'030'261'248, 0});
  expect_folded_equals_unrolled<models::qwen3_30b_a3b<2, 16>>({hp::graph_code::ok, 30'532'122'624, 0});
  expect_folded_equals_unrolled<models::deepseek_v3<2, 32>>({hp::graph_code::ok, 671'026'404'352, 58 * 256});
  // 32001 · 768 rows twice, the final norm, and 12 blocks: 4 · 768² + 3 · 768 · 2048 + 2 · 768 + 6 · 128 · 768.
  expect_folded_equals_unrolled<models::masked_diffusion<2, 16>>(
      {hp::graph_code::ok, 2 * 32001 * 768 + 768 + 12 * (4 * 768 * 768 + 3 * 768 * 2048 + 2 * 768 + 6 * 128 * 768), 0});
  // Patches, positions, three tables of 32000, three norms at ends; blocks of one attention, of three in the decoder.
  constexpr hp::extent_t attention = 4 * 768 * 768 + 768, feed_forward = 3 * 768 * 2048 + 768;
  expect_folded_equals_unrolled<models::captioner<models::captioner_sizes{2, 9, 5, 7}>>(
      {hp::graph_code::ok,
       768 * 768 + 9 * 768 + 3 * 32000 * 768 + 3 * 768 + 18 * (attention + feed_forward) +
           6 * (3 * attention + feed_forward),
       0});
}

TEST(ExampleModels, ActiveParametersOfQwen3) {
  // Of each token: everything but the 120 experts that it does not go through.
  const sizes s = sizes_of(built<models::qwen3_30b_a3b<1, 16>>(false));
  EXPECT_EQ(s.parameters - 48 * 120 * hp::extent_t{3} * 2048 * 768, 3'353'032'704);
}

TEST(ExampleModels, ExpertsHaveRoomForTheirEvenShare) {
  const hp::graph g = built<models::deepseek_v3<8, 4096>>(false);
  EXPECT_EQ(described(g, "layers.0-57.moe.dispatch"),
            "layers.0-57.moe.dispatch (batch 8, experts 256, capacity 128, hidden 7168)");
  EXPECT_EQ(described(g, "layers.0-57.moe.shared.gate.weight"),
            "layers.0-57.moe.shared.gate.weight (hidden 7168, shared_ffn 2048)");
  EXPECT_EQ(described(g, "dense_layers.0-2.feed_forward.gate.weight"),
            "dense_layers.0-2.feed_forward.gate.weight (hidden 7168, ffn 18432)");
}

TEST(SmallMoe, ShapesAndNames) {
  const hp::graph g = built<models::small_moe<>>(true);
  ASSERT_EQ(mistake(g), "ok 0 0");
  EXPECT_EQ(described(g, hp::graph_tensor_kind::input),
            (strings{"tokens (batch 8, seq 64)", "labels (batch 8, seq 64)"}));
  const strings parameters = described(g, hp::graph_tensor_kind::parameter);
  strings expected{"embedding.weight (vocab 256, hidden 64)"};
  for (int i = 0; i < 4; ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    for (const char* rest : {"attention_norm.weight (hidden 64)",
                             "attention.query.weight (hidden 64, key_heads 4, query_group 2, head_dim 8)",
                             "attention.key.weight (hidden 64, key_heads 4, head_dim 8)",
                             "attention.value.weight (hidden 64, key_heads 4, head_dim 8)",
                             "attention.output.weight (key_heads 4, query_group 2, head_dim 8, hidden 64)",
                             "feed_forward_norm.weight (hidden 64)", "moe.router.weight (hidden 64, experts 8)",
                             "moe.experts.gate.weight (experts 8, hidden 64, expert_ffn 64)",
                             "moe.experts.up.weight (experts 8, hidden 64, expert_ffn 64)",
                             "moe.experts.down.weight (experts 8, expert_ffn 64, hidden 64)"})
      expected.push_back(layer + rest);
  }
  expected.push_back("head.norm.weight (hidden 64)");
  expected.push_back("head.logits.weight (hidden 64, vocab 256)");
  EXPECT_EQ(parameters, expected);
  EXPECT_EQ(described(g, "layers.2.moe.dispatch"),
            "layers.2.moe.dispatch (batch 8, experts 8, capacity 32, hidden 64)");
}

TEST(SmallMoe, TheTypeAndTheRunTimeSizesAreOneModel) {
  hp::model_builder m;
  models::build_small_moe(m, {});
  const hp::graph g = built<models::small_moe<>>(false);
  EXPECT_TRUE(m.graph.text == g.text);
  EXPECT_TRUE(m.graph.tensor == g.tensor);
  EXPECT_EQ(m.graph.loss, g.loss);
}

TEST(SmallMoe, EveryModeBuilds) {
  for (const hp::expert_slots slots :
       {hp::expert_slots::per_group, hp::expert_slots::joint, hp::expert_slots::dropless})
    for (const hp::expert_scores scores : {hp::expert_scores::softmax, hp::expert_scores::sigmoid})
      for (const double balance : {0.0, 0.01})
        for (const bool unrolled : {false, true}) {
          hp::model_builder m({.unrolled = unrolled});
          models::build_small_moe(
              m, {.layers = 5, .shared_width = 32, .scores = scores, .slots = slots, .balance_scale = balance});
          EXPECT_EQ(mistake(m.graph), "ok 0 0");
          EXPECT_GE(m.graph.loss, 0);
          EXPECT_EQ(sizes_of(m.graph).states, scores == hp::expert_scores::sigmoid ? 5 * 8 : 0);
        }
}

TEST(SmallMoe, MisuseIsReported) {
  hp::model_builder heads;
  models::build_small_moe(heads, {.query_heads = 6, .key_heads = 4});
  EXPECT_EQ(mistake(heads.graph), "heads_do_not_divide layers.0-3.attention 6 4");
  hp::model_builder experts({.unrolled = true});
  models::build_small_moe(experts, {.experts = 4, .top_k = 5});
  EXPECT_EQ(mistake(experts.graph), "top_k_exceeds_experts layers.0.moe 5 4");
}

TEST(Captioner, EncodersShareNoTensorButTheDecoders) {
  // Tensors that depend on the image and on the prompt both come after both encoders.
  const hp::graph g = built<models::captioner<models::captioner_sizes{2, 9, 5, 7}>>(false);
  std::vector<int> from(static_cast<std::size_t>(g.tensor.size), 0);
  from[static_cast<std::size_t>(find_tensor(g, "image"))] = 1;
  from[static_cast<std::size_t>(find_tensor(g, "prompt_tokens"))] = 2;
  for (int o = 0; o < g.op.size; ++o) {
    int all = 0;
    for (int i = 0; i < g.op[o].operand_count; ++i) all |= from[static_cast<std::size_t>(g.op[o].operand[i])];
    for (int r = 0; r < g.op[o].result_count; ++r) from[static_cast<std::size_t>(g.op[o].result[r])] = all;
    const std::string name = g.name_of_op(o);
    if (name.rfind("image_", 0) == 0) {
      EXPECT_EQ(all, 1) << name;
    }
    if (name.rfind("prompt_", 0) == 0) {
      EXPECT_EQ(all, 2) << name;
    }
  }
  EXPECT_EQ(from[static_cast<std::size_t>(g.loss)], 3);
}

}  // namespace
