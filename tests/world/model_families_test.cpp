// SPDX-License-Identifier: Apache-2.0
// Models of other families than the small language model, trained under every strategy that takes them: the losses of one
// device.
#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include "../../examples/models/captioner.hpp"
#include "../../examples/models/diffusion_transformer.hpp"
#include "../../examples/models/vision_transformer.hpp"
#include "layers/decoder_shapes.hpp"
#include "models/language_model.hpp"
#include "support/tries.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace {

namespace hp = hyperparallel;

/// Convolutions, group norms and GELU over small pictures; groups may be sharded.
struct picture_classifier {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 8), channel = m.dim("channels", 3);
    const int image = m.input("image", {batch, m.dim("colours", 3), m.dim("height", 9), m.dim("image_width", 7)});
    const int labels = m.index_input("labels", {batch});
    const int wide = m.dim("features", 8);
    int x = hp::convolution_layer{.name = "first", .output = wide, .padding = 1, .bias = true}(m, image);
    x = m.apply<hp::ops::gelu>("first_activation", {x});
    x = hp::convolution_layer{.name = "second", .output = m.dim("groups", 4), .stride = 2}(m, x);
    // A group's channels are a dim of their own.
    x = m.apply<hp::ops::broadcast>("grouped", {x},
                                    {.text = "bgyx->bgcyx", .created = {{'c', channel}}, .created_count = 1});
    x = hp::group_norm_layer{"second_norm"}(m, x);
    x = hp::dropout_layer{.rate = 0.2}(m, m.apply<hp::ops::silu>("second_activation", {x}));
    const int pooled = m.apply<hp::ops::reduce>("pooled", {x}, {.text = "bgcyx->bgc"});
    const int logits = hp::linear_layer{"classes", {m.dim("classes", 5)}, 2}(m, pooled);
    m.loss(hp::mean_cross_entropy(m, logits, labels));
  }
};

/// GPT-2: learned positions, layer norms, GELU, a bias at every linear map.
struct biased_language_model {
  static constexpr void build(hp::model_builder& m) {
    const programs::text_inputs text(m, {.batch = 8, .sequence = 8, .vocabulary = 32, .hidden = 16});
    int x = hp::position_embedding{}(m, text.x);
    x = m.repeat(
        "layers", 2, x,
        hp::transformer_block<hp::attention_layer, hp::gelu_layer, hp::layer_norm_layer>{
            .attention =
                {.query_heads = 4, .key_heads = 4, .head_dim = 4, .query_key_value_bias = true, .output_bias = true},
            .feed_forward = {.width = 32, .bias = true}});
    hp::language_head{.vocabulary = 32}(m, x, text.labels);
  }
};

/// Qwen2: grouped queries, rotary positions, biases at queries, keys and values alone, SwiGLU.
struct biased_queries {
  static constexpr void build(hp::model_builder& m) {
    const programs::text_inputs text(m, {.batch = 8, .sequence = 8, .vocabulary = 32, .hidden = 16});
    const hp::transformer_block<hp::attention_layer, hp::swiglu_layer> block{
        .attention = {.query_heads = 8, .key_heads = 4, .head_dim = 4, .rope_base = 1e4, .query_key_value_bias = true},
        .feed_forward = {.width = 32}};
    hp::language_head{.vocabulary = 32}(m, m.repeat("layers", 2, text.x, block), text.labels);
  }
};

/// A head that reads the table of the embedding, which has one parameter of the vocabulary for both.
struct tied_language_model {
  static constexpr void build(hp::model_builder& m) {
    const programs::text_inputs text(m, {.batch = 8, .sequence = 8, .vocabulary = 32, .hidden = 16});
    const hp::transformer_block<hp::attention_layer, hp::swiglu_layer> block{
        .attention = {.query_heads = 4, .key_heads = 4, .head_dim = 4, .rope_base = 1e4},
        .feed_forward = {.width = 32}};
    hp::language_head{.vocabulary = 32, .tied_to = "embedding"}(m, m.repeat("layers", 2, text.x, block), text.labels);
  }
};

/// GPT-J: attention and feed-forward side by side behind one norm; GPT-NeoX: each behind its own.
template <bool TwoNorms>
struct parallel_language_model {
  static constexpr void build(hp::model_builder& m) {
    const programs::text_inputs text(m, {.batch = 8, .sequence = 8, .vocabulary = 32, .hidden = 16});
    const hp::parallel_block<hp::attention_layer, hp::gelu_layer, hp::layer_norm_layer> block{
        .attention = {.query_heads = 4, .key_heads = 4, .head_dim = 4, .rope_base = 1e4, .output_bias = TwoNorms},
        .feed_forward = {.width = 32, .bias = true},
        .two_norms = TwoNorms};
    hp::language_head{.vocabulary = 32}(m, m.repeat("layers", 2, text.x, block), text.labels);
  }
};

/// A dense layer before two with experts. Qwen2-MoE: shared experts behind a gate; DeepSeek: latents, here with biases.
template <bool Latents>
struct sparse_decoder {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 8), sequence = m.dim("seq", 8);
    const hp::decoder model{.vocabulary = 32,
                            .hidden = 16,
                            .layers = 3,
                            .attention = {.query_heads = 8,
                                          .key_heads = 4,
                                          .head_dim = 4,
                                          .rope_base = 1e4,
                                          .query_key_norm = true,
                                          .query_key_value_bias = true},
                            .latent_attention = {.heads = 4,
                                                 .head_dim = 4,
                                                 .rope_dim = 2,
                                                 .value_dim = 4,
                                                 .query_rank = 8,
                                                 .key_value_rank = 4,
                                                 .bias = true},
                            .has_latents = Latents,
                            .feed_forward = {.width = 32},
                            .experts = {.experts = 8,
                                        .top_k = 2,
                                        .width = 8,
                                        .shared_width = 16,
                                        .shared_gate = !Latents,
                                        .scores = Latents ? hp::expert_scores::sigmoid : hp::expert_scores::softmax,
                                        .capacity_factor = 8.0},
                            .has_experts = true,
                            .sparse = {.first = 1}};
    model(m, m.index_input("tokens", {batch, sequence}), m.index_input("labels", {batch, sequence}));
  }
};

constexpr hp::decoder minicpm = hp::test::small_minicpm(), gpt2 = hp::test::small_gpt2(),
                      gpt_neox = hp::test::small_gpt_neox(), gemma2 = hp::test::small_gemma2(),
                      gemma3 = hp::test::small_gemma3(), gpt_oss = hp::test::small_gpt_oss(),
                      qwen3_5 = hp::test::small_qwen3_5(), nemotron_h = hp::test::small_nemotron_h();

/// A decoder of a family as a model.
template <const hp::decoder& Decoder>
struct decoder_model {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 8), sequence = m.dim("seq", 8);
    Decoder(m, m.index_input("tokens", {batch, sequence}), m.index_input("labels", {batch, sequence}));
  }
};

template <class Model>
hp::graph step_of(int micro_batches = 1) {
  hp::graph g = hp::build_model<Model>({.activation = hp::f64, .parameter = hp::f64, .unrolled = true});
  g.micro_batches = micro_batches;
  hp::differentiate(g);
  hp::append_optimizer(g, {});
  return g;
}

std::vector<double> losses(const hp::graph& g, const hp::strategy_value& s) {
  hp::model_run<double> run(g, s);
  std::vector<double> all;
  for (int step = 0; step < tested::tries(3, 50); ++step)
    all.push_back(
        run.train_step([&](int micro) { run.set_random_inputs(static_cast<std::uint64_t>(16 * step + micro)); }));
  return all;
}

/// Trains under each named strategy that takes the graph; these are `expected` at least.
void expect_one_device(const hp::graph& g, int ranks, std::set<std::string> expected) {
  ASSERT_EQ(g.status.code, hp::graph_code::ok) << g.text_at(g.status.op);
  const std::vector<double> one = losses(g, hp::strategy_called("single", 1).strategy);
  for (const double loss : one) ASSERT_TRUE(std::isfinite(loss));
  ASSERT_NE(one.front(), one.back());
  int trained = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const char* const name = hp::named_strategy_at(i).name;
    const hp::strategy_value s = hp::strategy_called(name, ranks).strategy;
    if (hp::partition(g, s).status.code != hp::strategy_code::ok) continue;
    const std::vector<double> many = losses(g, s);
    for (std::size_t step = 0; step < one.size(); ++step)
      EXPECT_NEAR(many[step], one[step], 1e-9 * std::abs(one[step])) << name;
    expected.erase(name);
    ++trained;
  }
  for (const std::string& name : expected) ADD_FAILURE() << name << " does not take the graph";
  std::printf("%d strategies\n", trained);
}

constexpr models::vision_sizes vision{.batch = 8,
                                      .patches = 8,
                                      .patch_values = 6,
                                      .classes = 8,
                                      .layers = 2,
                                      .hidden = 16,
                                      .heads = 4,
                                      .width = 32,
                                      .dropout = 0.2};
constexpr models::diffusion_sizes diffusion{
    .batch = 8, .patches = 8, .patch_values = 4, .condition = 8, .layers = 2, .hidden = 16, .heads = 4, .width = 32};
constexpr models::captioner_sizes caption{.batch = 8,
                                          .patches = 8,
                                          .prompt = 8,
                                          .sequence = 8,
                                          .image_layers = 1,
                                          .prompt_layers = 1,
                                          .decoder_layers = 1,
                                          .hidden = 16,
                                          .vocabulary = 32,
                                          .patch_values = 8,
                                          .heads = 4,
                                          .width = 32};

TEST(ModelFamilies, AVisionTransformerWithDropout) {
  expect_one_device(step_of<models::vision_transformer<vision>>(), 4, {"dp", "zero1", "zero2", "zero3"});
  expect_one_device(step_of<models::vision_transformer<vision>>(2), 4, {"dp", "zero1", "zero2", "zero3"});
}
TEST(ModelFamilies, ADiffusionTransformer) {
  expect_one_device(step_of<models::diffusion_transformer<diffusion>>(), 4, {"dp", "zero1", "zero2", "zero3"});
}
TEST(ModelFamilies, ACaptioner) {
  expect_one_device(step_of<models::captioner<caption>>(), 4, {"dp", "zero1", "zero2", "zero3", "tp"});
}
TEST(ModelFamilies, AConvolutionalClassifier) {
  expect_one_device(step_of<picture_classifier>(), 4, {"dp", "zero1", "zero2", "zero3"});
}

/// Those that take a language model without experts on four devices.
const std::set<std::string> dense{"single", "dp",      "zero1", "zero2", "zero3",    "hsdp1",     "hsdp2",
                                  "hsdp3",  "tp",      "tp-sp", "vocab", "2d",       "summa",     "2.5d",
                                  "3d",     "ulysses", "ring",  "dp-tp", "gathered", "two-level", "zero3-tp"};

TEST(ModelFamilies, ALanguageModelWithBiases) {
  expect_one_device(step_of<biased_language_model>(), 4, dense);
  expect_one_device(step_of<biased_language_model>(2), 4, dense);
  expect_one_device(step_of<biased_queries>(), 4, dense);
}

TEST(ModelFamilies, AHeadThatIsTiedToTheEmbedding) {
  expect_one_device(step_of<tied_language_model>(), 4, dense);
  expect_one_device(step_of<tied_language_model>(2), 4, dense);
}
TEST(ModelFamilies, DecodersWithExperts) {
  std::set<std::string> expected = dense;
  expected.insert({"ep", "tp-ep", "ep-tp", "dp-ep", "dp-tp-ep-cp"});
  expect_one_device(step_of<sparse_decoder<false>>(), 4, expected);
  expect_one_device(step_of<sparse_decoder<true>>(2), 4, expected);
}
TEST(ModelFamilies, ParallelBlocks) {
  expect_one_device(step_of<parallel_language_model<false>>(), 4, dense);
  expect_one_device(step_of<parallel_language_model<true>>(), 4, dense);
}

TEST(ModelFamilies, DecodersThatScaleValues) { expect_one_device(step_of<decoder_model<minicpm>>(), 4, dense); }
TEST(ModelFamilies, DecodersWithLearnedPositions) { expect_one_device(step_of<decoder_model<gpt2>>(2), 4, dense); }
TEST(ModelFamilies, DecodersWithBranchesSideBySide) { expect_one_device(step_of<decoder_model<gpt_neox>>(), 4, dense); }
TEST(ModelFamilies, DecodersWithCapsAndNormsBehindBranches) {
  expect_one_device(step_of<decoder_model<gemma2>>(), 4, dense);
  expect_one_device(step_of<decoder_model<gemma3>>(2), 4, dense);
}
TEST(ModelFamilies, DecodersWithSinksAndBiasesOfExperts) {
  std::set<std::string> expected = dense;
  expected.insert({"ep", "tp-ep", "ep-tp", "dp-ep", "dp-tp-ep-cp"});
  expect_one_device(step_of<decoder_model<gpt_oss>>(), 4, expected);
}

TEST(ModelFamilies, DecodersWithLinearAttention) {
  expect_one_device(step_of<decoder_model<qwen3_5>>(), 4, dense);
  expect_one_device(step_of<decoder_model<qwen3_5>>(2), 4, dense);
}

TEST(ModelFamilies, DecodersOfOneBranchALayer) {
  std::set<std::string> expected = dense;
  expected.insert({"ep", "tp-ep", "ep-tp", "dp-ep", "dp-tp-ep-cp"});
  expect_one_device(step_of<decoder_model<nemotron_h>>(), 4, expected);
  expect_one_device(step_of<decoder_model<nemotron_h>>(2), 4, expected);
}

/// Strategies of one's own for what has no named one: tensor parallel by dims.
hp::strategy_value by_dims(const std::vector<hp::strategy_rule>& rules) {
  hp::strategy_value s;
  s.mesh.shape = {2, {2, 2}};
  s.mesh.label[0] = "dp";
  s.mesh.label[1] = "tp";
  for (const hp::strategy_rule& r : rules) s.add(r);
  s.add(hp::shard_dim("batch", "dp"));
  return s;
}
void expect_losses(const hp::graph& g, const hp::strategy_value& s) {
  const std::vector<double> one = losses(g, hp::strategy_called("single", 1).strategy), many = losses(g, s);
  for (std::size_t step = 0; step < one.size(); ++step) EXPECT_NEAR(many[step], one[step], 1e-9 * std::abs(one[step]));
}

// In place of their widths experts are dealt along tp, alone and beside ep; slots of those along cp.
TEST(ModelFamilies, ExpertsAlongTensorAndContextRanks) {
  const hp::graph g = step_of<sparse_decoder<false>>();
  for (const bool first_has_experts : {false, true}) {
    hp::strategy_value s;
    s.mesh.shape = {2, {2, 2}};
    s.mesh.label[0] = first_has_experts ? "ep" : "cp";
    s.mesh.label[1] = "tp";
    if (first_has_experts)
      hp::add_expert_parallel(s, "ep");
    else
      hp::add_folded_expert_parallel(s, "cp");
    hp::add_folded_expert_parallel(s, "tp");
    if (first_has_experts)
      hp::add_data_parallel(s, "ep");
    else
      hp::detail::add_gathered_context(s, "cp");
    hp::add_tensor_parallel(s, "tp");
    hp::detail::add_sequence_parallel(s, "tp");
    expect_losses(g, s);
  }
}

TEST(ModelFamilies, TensorParallelByDims) {
  expect_losses(
      step_of<models::vision_transformer<vision>>(),
      by_dims({hp::shard_dim("ffn", "tp"), hp::shard_dim("key_heads", "tp"), hp::shard_dim("classes", "tp")}));
  expect_losses(step_of<models::diffusion_transformer<diffusion>>(),
                by_dims({hp::shard_dim("ffn", "tp"), hp::shard_dim("key_heads", "tp")}));
  expect_losses(step_of<picture_classifier>(),
                by_dims({hp::shard_dim("features", "tp", "first*"), hp::shard_dim("groups", "tp")}));
}

}  // namespace
