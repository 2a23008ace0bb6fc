// SPDX-License-Identifier: Apache-2.0
// A decoder's graph has the parameters that its sizes say, one segment a run of equal layers, and gradients.

#include "decoder_shapes.hpp"
#include "described.hpp"

#include <gtest/gtest.h>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/layers/decoder_parameters.hpp>

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

hp::graph graph_of(const hp::decoder& d, hp::build_options options = {}) {
  hp::model_builder m(options);
  const int batch = m.dim("batch", 2), sequence = m.dim("seq", 8);
  d(m, m.index_input("tokens", {batch, sequence}), m.index_input("labels", {batch, sequence}));
  return m.graph;
}

/// Parameters, and the biases of routers, which no gradient moves.
hp::extent_t stored_elements(const hp::graph& g) {
  hp::extent_t n = hp::parameter_count(g);
  for (const hp::graph_tensor& t : g.tensor)
    if (t.kind == hp::graph_tensor_kind::state) n += hp::elements_of(t) * hp::detail::repeats_of(g, t.segment);
  return n;
}

strings segments(const hp::graph& g) {
  strings all;
  for (int s = 0; s < g.segment.size; ++s)
    all.push_back(std::string(g.text_at(g.segment[s].name)) + " x " + std::to_string(g.segment[s].repeats));
  return all;
}

TEST(Decoder, PublishedModelsHaveTheirParameters) {
  for (const hp::decoder& d :
       {llama3_8b, qwen25_0_5b, qwen3_30b_a3b, qwen15_moe, deepseek_v3, gpt2, pythia_70m, gemma2_27b, gpt_oss_20b}) {
    const hp::graph g = graph_of(d);
    ASSERT_EQ(mistake(g), "ok 0 0");
    EXPECT_EQ(stored_elements(g), hp::parameters_of(d).total());
  }
}

TEST(Decoder, EveryOptionIsCountedAsItIsBuilt) {
  for (const bool latents : {false, true})
    for (const bool experts : {false, true})
      for (const bool unrolled : {false, true})
        for (int left_out = 0; left_out < 8; ++left_out) {
          hp::decoder d = small_decoder(latents, experts);
          switch (left_out) {
            case 1:
              d.attention.query_key_norm = false;
              break;
            case 2:
              d.attention.query_key_value_bias = d.latent_attention.bias = false;
              break;
            case 3:
              d.attention.output_bias = false;
              break;
            case 4:
              d.latent_attention.query_rank = 0;
              break;
            case 5:
              d.feed_forward.bias = d.experts.shared_gate = false;
              break;
            case 6:
              d.experts.shared_width = 0, d.experts.shared_gate = false;
              break;
            case 7:
              d.experts.scores = hp::expert_scores::softmax, d.tied = true;
              break;
            default:
              break;
          }
          const hp::graph g = graph_of(d, {.unrolled = unrolled});
          ASSERT_EQ(mistake(g), "ok 0 0");
          EXPECT_EQ(stored_elements(g), hp::parameters_of(d).total()) << latents << experts << unrolled << left_out;
        }
}

TEST(Decoder, RunsOfEqualLayersAreSegments) {
  EXPECT_EQ(segments(graph_of(llama3_8b)), (strings{"layers x 32"}));
  EXPECT_EQ(segments(graph_of(deepseek_v3)), (strings{"dense_layers x 3", "layers x 58"}));
  hp::decoder windowed = llama3_8b;
  windowed.attention.window = 4;
  windowed.first_windowed = 20;
  const hp::graph g = graph_of(windowed);
  EXPECT_EQ(segments(g), (strings{"layers x 20", "layers_1 x 12"}));
  EXPECT_EQ(operator_called(g, "layers.0-19.attention.attend").integer[1], 0);
  EXPECT_EQ(operator_called(g, "layers_1.0-11.attention.attend").integer[1], 4);
}

TEST(Decoder, ScalesStandBehindTheEmbeddingInTheBranchesAndBeforeTheLogits) {
  hp::decoder d = small_decoder(false, false);
  EXPECT_LT(hp::find_tensor(graph_of(d), "embedding_scaled"), 0);
  d.embedding_scale = 12.0;
  d.branch_scale = 0.25;
  d.hidden_scale = 0.5;
  const hp::graph g = graph_of(d);
  ASSERT_EQ(mistake(g), "ok 0 0");
  EXPECT_EQ(stored_elements(g), hp::parameters_of(d).total());
  EXPECT_EQ(operator_called(g, "embedding_scaled").real[0], 12.0);
  for (const char* branch : {"layers.0-3.attention_scaled", "layers.0-3.feed_forward_scaled"})
    EXPECT_EQ(operator_called(g, branch).real[0], 0.25);
  EXPECT_EQ(operator_called(g, "head.hidden_scaled").real[0], 0.5);
}

TEST(Decoder, LayersWithExpertsAreThoseOfThePattern) {
  hp::decoder d = small_decoder(false, true);
  d.attention.window = 0;
  const hp::graph g = graph_of(d);
  EXPECT_GE(hp::find_tensor(g, "dense_layers.0.feed_forward.gate.weight"), 0);
  EXPECT_GE(hp::find_tensor(g, "layers.0.moe.router.weight"), 0);
  EXPECT_GE(hp::find_tensor(g, "layers_1.0.moe.router.weight"), 0);
  EXPECT_GE(hp::find_tensor(g, "dense_layers_2.0.feed_forward.gate.weight"), 0);
  EXPECT_LT(hp::find_tensor(g, "layers_2.0.moe.router.weight"), 0);
  hp::expert_layers odd{.period = 2, .phase = 1};
  odd.except.push(3);
  EXPECT_TRUE(odd.has(1) && odd.has(5));
  EXPECT_FALSE(odd.has(0) || odd.has(3));
}

TEST(Decoder, FamiliesAreCountedAsTheyAreBuiltAndHaveGradients) {
  for (const hp::decoder& d : small_families)
    for (const bool unrolled : {false, true}) {
      hp::graph g = graph_of(d, {.unrolled = unrolled});
      ASSERT_EQ(mistake(g), "ok 0 0");
      EXPECT_EQ(stored_elements(g), hp::parameters_of(d).total());
      hp::differentiate(g);
      EXPECT_EQ(mistake(g), "ok 0 0");
    }
}

TEST(Decoder, WindowsInTurnWithNone) {
  const hp::graph g = graph_of(small_gemma3());  // windows, but in layer 2; too few layers for two groups
  EXPECT_EQ(segments(g), (strings{"layers x 2"}));
  for (const char* windowed : {"layers.0-1.attention.", "layers_2.0.attention."}) {
    EXPECT_EQ(operator_called(g, (windowed + std::string("attend")).c_str()).integer[1], 3);
    EXPECT_EQ(operator_called(g, (windowed + std::string("query_rotated")).c_str()).real[0], 100.0);
  }
  EXPECT_EQ(operator_called(g, "layers_1.0.attention.attend").integer[1], 0);
  EXPECT_EQ(operator_called(g, "layers_1.0.attention.query_rotated").real[0], 1e4);
}

TEST(Decoder, GroupsOfWindowsInTurnAreSegments) {
  const hp::graph two = graph_of(small_gemma2());
  EXPECT_EQ(segments(two), (strings{"layers x 2"}));
  EXPECT_EQ(operator_called(two, "layers.0-1.windowed.attention.attend").integer[1], 3);
  EXPECT_EQ(operator_called(two, "layers.0-1.full.attention.attend").integer[1], 0);
  hp::decoder d = small_gemma3();
  d.layers = 8;  // two groups of three, and two layers
  const hp::graph three = graph_of(d);
  EXPECT_EQ(segments(three), (strings{"layers x 2", "layers_1 x 2"}));
  EXPECT_EQ(operator_called(three, "layers.0-1.windowed_1.attention.attend").integer[1], 3);
  EXPECT_EQ(operator_called(three, "layers.0-1.full.attention.attend").integer[1], 0);
  EXPECT_EQ(operator_called(three, "layers_1.0-1.attention.attend").integer[1], 3);
  d.first_windowed = 1;  // groups differ
  d.layers = 3;
  EXPECT_EQ(segments(graph_of(d)), strings{});
  for (const hp::decoder& each : small_families)
    for (hp::extent_t layers = 1; layers < 14; ++layers) {
      d = each;
      d.layers = layers;
      hp::extent_t next = 0;
      d.visit_runs([&](const hp::decoder::layer_run& run) {
        EXPECT_EQ(run.first, next);
        for (hp::extent_t layer = 0; layer < run.group * run.repeats; ++layer) {
          EXPECT_EQ(d.is_windowed(run.first + layer), d.is_windowed(run.first + layer % run.group));
          EXPECT_EQ(d.is_sparse(run.first + layer), d.is_sparse(run.first + layer % run.group));
        }
        next += run.group * run.repeats;
      });
      EXPECT_EQ(next, layers);
      EXPECT_EQ(stored_elements(graph_of(d)), hp::parameters_of(d).total());
    }
}

TEST(Decoder, BranchesSideBySideAreOneSum) {
  const hp::graph g = graph_of(small_gpt_neox());
  EXPECT_EQ(operator_called(g, "layers.0-3.residual").operand_count, 3);
  EXPECT_LT(hp::find_tensor(g, "layers.0-3.attention_residual"), 0);
}

TEST(Decoder, CapsAreInAttentionAndBehindTheLogits) {
  const hp::graph g = graph_of(small_gemma2());
  EXPECT_EQ(operator_called(g, "layers.0-1.full.attention.attend").real[0], 0.4);
  EXPECT_EQ(operator_called(g, "layers.0-1.full.attention.attend").real[1], 5.0);
  EXPECT_EQ(operator_called(g, "head.logits_by_cap").real[0], 1.0 / 3.0);
  EXPECT_EQ(operator_called(g, "head.logits_capped").real[0], 3.0);
  for (const char* norm : {"layers.0-1.full.attention_branch_norm", "layers.0-1.windowed.feed_forward_branch_norm"})
    EXPECT_GE(hp::find_tensor(g, norm), 0);
}

TEST(Decoder, SequencesAreNotLongerThanTheTableOfPositions) {
  hp::decoder d = small_gpt2();
  d.positions = 7;
  EXPECT_EQ(mistake(graph_of(d)).substr(0, 36), "created_dim_does_not_fit position.re");
}

TEST(Decoder, EverySmallOneHasGradients) {
  for (const bool latents : {false, true})
    for (const bool experts : {false, true}) {
      hp::graph g = graph_of(small_decoder(latents, experts));
      hp::differentiate(g);
      EXPECT_EQ(mistake(g), "ok 0 0");
    }
}

TEST(Decoder, MisuseIsReported) {
  hp::decoder d = llama3_8b;
  d.attention.key_heads = 7;
  EXPECT_EQ(mistake(graph_of(d)), "heads_do_not_divide layers.0-31.attention 32 7");
}

}  // namespace
