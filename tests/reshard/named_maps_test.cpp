// SPDX-License-Identifier: Apache-2.0
// Checkpoints in our names are those that the library's decoders have, tensor by tensor.

#include <hyperparallel/checkpoint/run_checkpoints.hpp>
#include "reshard/reshard.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include "checkpoint/model_files.hpp"
#include "models/language_model.hpp"

namespace rs = hp_tool::reshard;

namespace {

using namespace checkpoint_test;
using shapes = std::map<std::string, std::vector<std::int64_t>>;

shapes shapes_of(const hp::decoder& d) {
  const auto b = std::make_unique<hp::model_builder>(hp::build_options{.unrolled = true});
  const int batch = b->dim("batch", 2), sequence = b->dim("seq", 8);
  d(*b, b->index_input("tokens", {batch, sequence}), b->index_input("labels", {batch, sequence}));
  shapes all;
  for (int t = 0; t < b->graph.tensor.size; ++t) {
    const auto& tensor = b->graph.tensor[t];
    if (tensor.kind == hp::graph_tensor_kind::parameter || tensor.kind == hp::graph_tensor_kind::state)
      all[b->graph.name_of_tensor(t)] = {tensor.shape.extent, tensor.shape.extent + tensor.shape.rank};
  }
  return all;
}

shapes shapes_in_our_names(const tensors& model, const char* config) {
  const io_test::workplace at;
  write_model(at, "model", model, config);
  rs::execute_reshard(rs::prepare_reshard({.source = at.path("model"), .target = at.path("ours"), .to_map = "ours"}));
  shapes all;
  for (const auto& [name, t] : read_whole(at.path("ours"))) all[name] = t.extents;
  return all;
}

TEST(OwnMap, GroupedAttention) {
  hp::decoder d;
  d.vocabulary = 100;
  d.hidden = 32;
  d.layers = 4;
  d.attention.query_heads = 8;
  d.attention.key_heads = 4;
  d.attention.head_dim = 8;
  d.attention.query_key_norm = d.attention.query_key_value_bias = true;
  d.feed_forward.width = 48;
  std::mt19937_64 random(1);
  EXPECT_EQ(shapes_in_our_names(grouped_model(random), grouped_config), shapes_of(d));
}

TEST(OwnMap, LatentAttentionAndExperts) {
  hp::decoder d;
  d.vocabulary = 128;
  d.hidden = 32;
  d.layers = 4;
  d.has_latents = true;
  d.latent_attention.heads = 4;
  d.latent_attention.head_dim = 8;
  d.latent_attention.rope_dim = 4;
  d.latent_attention.value_dim = 8;
  d.latent_attention.query_rank = 24;
  d.latent_attention.key_value_rank = 16;
  d.feed_forward.width = 48;
  d.has_experts = true;
  d.sparse.first = 1;
  d.experts.experts = 8;
  d.experts.top_k = 2;
  d.experts.width = d.experts.shared_width = 16;
  d.experts.scores = hp::expert_scores::sigmoid;
  std::mt19937_64 random(2);
  EXPECT_EQ(shapes_in_our_names(expert_model(random), expert_config), shapes_of(d));
}

/// What a training saves goes to names of Hugging Face and back, states with their parameters, and the training goes on.
TEST(OwnMap, TrainingsGoOnBehindAConversion) {
  const io_test::workplace at;
  using run = hp::model_run<double>;
  const auto begun = [] {
    hp::model_builder m(hp::build_options{.activation = hp::f64, .parameter = hp::f64, .unrolled = true});
    programs::language_model(m, {.batch = 4, .sequence = 8, .vocabulary = 32, .hidden = 16}, "layers", 2,
                             [&](hp::model_builder& layer, int x) {
                               return hp::transformer_block<hp::attention_layer, hp::swiglu_layer>{
                                   {.query_heads = 4, .key_heads = 2, .head_dim = 8, .rope_base = 10000.0},
                                   {.width = 32}}(layer, x);
                             });
    hp::differentiate(m.graph);
    hp::append_optimizer(m.graph, {.kind = hp::optimizer_kind::adamw});
    return run(m.graph, hp::strategy_called("dp", 2).strategy);
  };
  const auto trained = [](run& r, int steps) {
    std::vector<double> losses;
    for (int i = 0; i < steps; ++i)
      losses.push_back(r.train_step([&](int) { r.set_random_inputs(static_cast<std::uint64_t>(r.steps())); }));
    return losses;
  };
  run whole = begun(), first = begun(), second = begun();
  const std::vector<double> losses = trained(whole, 4);
  trained(first, 2);
  hp::run_checkpoints<run>(at.path("runs"), first).save();
  rs::execute_reshard(
      rs::prepare_reshard({.source = at.path("runs/step_000000000002"), .target = at.path("run.safetensors")}));
  const std::string sizes = "group_heads=2,head_dim=8";
  rs::execute_reshard(rs::prepare_reshard({.source = at.path("run.safetensors"),
                                           .target = at.path("hf"),
                                           .to = "tp=2",
                                           .from_map = "ours",
                                           .to_map = "hf",
                                           .sizes = sizes}));
  rs::execute_reshard(rs::prepare_reshard(
      {.source = at.path("hf"), .target = at.path("back.safetensors"), .to_map = "ours", .sizes = sizes}));
  EXPECT_TRUE(read_file(at.path("back.safetensors")) == read_file(at.path("run.safetensors")));
  hp::load_run(at.path("back.safetensors"), second);
  EXPECT_EQ(second.steps(), 2);
  EXPECT_EQ(trained(second, 2), std::vector<double>(losses.begin() + 2, losses.end()));
}

/// Pairs of rotary channels of Hugging Face are halves of ours.
TEST(OwnMap, RotaryPairsBecomeHalves) {
  std::mt19937_64 random(3);
  const tensors model = expert_model(random);
  const io_test::workplace at;
  write_model(at, "model", model, expert_config);
  rs::execute_reshard(rs::prepare_reshard({.source = at.path("model"), .target = at.path("ours"), .to_map = "ours"}));
  const tensors ours = read_whole(at.path("ours"));
  const tensor& q = model.at("model.layers.2.self_attn.q_b_proj.weight");  // 4 heads of 8 + 4 rows, 24 columns
  EXPECT_EQ(ours.at("layers.1.attention.query_rope.weight"),
            gathered(q, {24, 4, 4}, [](const std::vector<std::int64_t>& i) {
              const std::int64_t half = i[2] / 2, pair = i[2] % 2;
              return (i[1] * 12 + 8 + 2 * pair + half) * 24 + i[0];
            }));
  EXPECT_EQ(ours.at("layers.1.attention.query_up.weight"),
            gathered(q, {24, 4, 8}, [](const std::vector<std::int64_t>& i) { return (i[1] * 12 + i[2]) * 24 + i[0]; }));
  const tensor& up = ours.at("layers.0.moe.experts.up.weight");
  for (std::int64_t e = 0; e < 8; ++e)
    EXPECT_EQ(rows(up, e, e + 1).bytes,
              gathered(model.at("model.layers.1.mlp.experts." + std::to_string(e) + ".up_proj.weight"), {32, 16},
                       [](const std::vector<std::int64_t>& i) { return i[1] * 32 + i[0]; })
                  .bytes);
}

}  // namespace
