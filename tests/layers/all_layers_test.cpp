// SPDX-License-Identifier: Apache-2.0
#include "layers/described.hpp"
#include "models/language_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/world/single_device.hpp>
#include <random>

#include "../../examples/models/small_moe.hpp"

namespace {

namespace hp = hyperparallel;
using namespace hp::test;

constexpr int vocabulary = 16;

/// Noise everywhere: inputs, small weights, norms near one, token numbers of the vocabulary.
void fill(hp::single_device<double>& device, std::mt19937& random) {
  std::normal_distribution<double> normal;
  const hp::graph& g = device.model();
  for (int t = 0; t < g.tensor.size; ++t) {
    const hp::graph_tensor& x = g.tensor[t];
    const bool parameter = x.kind == hp::graph_tensor_kind::parameter;
    if (x.kind != hp::graph_tensor_kind::input && !parameter) continue;
    if (x.type == hp::i32)
      for (auto& v : device.indices(t)) v = static_cast<std::int32_t>(random() % vocabulary);
    else
      for (double& v : device.values(t))
        v = !parameter ? normal(random) : x.shape.rank == 1 ? 1 + 0.1 * normal(random) : 0.3 * normal(random);
  }
}

/// The gradient of every parameter against central differences in six of its elements.
void expect_gradients(hp::model_builder& m) {
  hp::graph& g = m.graph;
  ASSERT_EQ(mistake(g), "ok 0 0");
  hp::differentiate(g);
  ASSERT_EQ(mistake(g), "ok 0 0");
  hp::single_device<double> device(g);
  std::mt19937 random(3);
  fill(device, random);
  device.run(hp::graph_phase::forward, hp::graph_phase::backward);
  const auto loss = [&] {
    device.run(hp::graph_phase::forward, hp::graph_phase::forward);
    return device.values(g.loss)[0];
  };
  const int tensors = g.tensor.size;
  for (int t = 0; t < tensors; ++t) {
    if (g.tensor[t].kind != hp::graph_tensor_kind::parameter) continue;
    ASSERT_GE(hp::gradient_of(g, t), 0) << g.name_of_tensor(t);
    const std::vector<double> gradient = device.values(hp::gradient_of(g, t));
    double largest = 0;
    for (const double v : gradient) largest = std::max(largest, std::abs(v));
    for (int sample = 0; sample < 6; ++sample) {
      const std::size_t i = random() % gradient.size();
      constexpr double step = 1e-5;
      double& v = device.values(t)[i];
      const double before = v;
      v = before + step;
      const double above = loss();
      v = before - step;
      const double below = loss();
      v = before;
      EXPECT_NEAR((above - below) / (2 * step), gradient[i], 1e-6 * largest + 1e-9) << g.name_of_tensor(t) << " " << i;
    }
  }
}

models::small_moe_config tiny(hp::expert_scores scores, hp::expert_slots slots) {
  return {.batch = 2,
          .sequence = 6,
          .vocabulary = vocabulary,
          .layers = 2,
          .hidden = 8,
          .query_heads = 4,
          .key_heads = 2,
          .head_dim = 4,
          .expert_width = 6,
          .shared_width = 5,
          .scores = scores,
          .slots = slots,
          .capacity_factor = 1.0,
          .balance_scale = 0.1};
}

TEST(Layers, GradientsOfTheSmallModelInEveryMode) {
  for (const hp::expert_slots slots :
       {hp::expert_slots::per_group, hp::expert_slots::joint, hp::expert_slots::dropless})
    for (const hp::expert_scores scores : {hp::expert_scores::softmax, hp::expert_scores::sigmoid}) {
      hp::model_builder m({.unrolled = true});
      models::build_small_moe(m, tiny(scores, slots));
      expect_gradients(m);
    }
}

TEST(Layers, GradientsOfAConditionedDiffusionBlock) {
  hp::model_builder m({.unrolled = true});
  const programs::text_inputs text(m, {2, 5, vocabulary, 8});
  const int weights = m.input("weights", {text.batch, text.sequence});
  const int time = m.input("time", {text.batch, m.dim("condition", 3)});
  const hp::diffusion_block<> block{
      .attention = {.query_heads = 2, .key_heads = 2, .head_dim = 4, .rope_base = 1e4, .query_key_norm = true},
      .feed_forward = {.width = 12}};
  const int y = m.repeat("layers", 2, text.x, [&](hp::model_builder& b, int x) { return block(b, x, time); });
  hp::language_head{.vocabulary = vocabulary}(m, y, text.labels, weights);
  expect_gradients(m);
}

TEST(Layers, GradientsOfCrossAndLatentAttention) {
  hp::model_builder m({.unrolled = true});
  const programs::text_inputs text(m, {2, 5, vocabulary, 8});
  const int image = m.input("image", {text.batch, m.dim("patches", 4), m.dim("patch_values", 3)});
  const int patches = hp::linear_layer{"patch_embedding", {m.dim("hidden", 8)}}(m, image);
  const int seen = hp::position_embedding{}(m, patches);
  int x = hp::residual_branch(m, "image_norm", "image_residual", 1e-6, text.x, [&](hp::model_builder& b, int y) {
    return hp::cross_attention_layer{"image_attention", 4, 2, 4}(b, y, seen);
  });
  x = hp::transformer_block<hp::latent_attention_layer, hp::swiglu_layer>{
      .attention = {.heads = 2, .head_dim = 4, .rope_dim = 2, .value_dim = 5, .query_rank = 6, .key_value_rank = 3},
      .feed_forward = {.width = 12}}(m, x);
  hp::language_head{.vocabulary = vocabulary}(m, x, text.labels);
  expect_gradients(m);
}

TEST(Layers, GradientsOfBiases) {
  hp::model_builder m({.unrolled = true});
  const programs::text_inputs text(m, {2, 5, vocabulary, 8});
  const hp::transformer_block<hp::attention_layer, hp::swiglu_layer> block{.attention = {.query_heads = 4,
                                                                                         .key_heads = 2,
                                                                                         .head_dim = 4,
                                                                                         .rope_base = 1e4,
                                                                                         .query_key_value_bias = true,
                                                                                         .output_bias = true},
                                                                           .feed_forward = {.width = 12, .bias = true}};
  hp::language_head{.vocabulary = vocabulary}(m, block(m, text.x), text.labels);
  expect_gradients(m);
}

TEST(Layers, GradientsOfAGateOfSharedExpertsAndOfBiasesOfLatents) {
  hp::model_builder m({.unrolled = true});
  const programs::text_inputs text(m, {2, 5, vocabulary, 8});
  const hp::transformer_block<hp::latent_attention_layer, hp::mixture_of_experts> block{
      .attention = {.heads = 2,
                    .head_dim = 4,
                    .rope_dim = 2,
                    .value_dim = 5,
                    .query_rank = 6,
                    .key_value_rank = 3,
                    .bias = true},
      .feed_forward = {.experts = 4, .top_k = 2, .width = 6, .shared_width = 5, .shared_gate = true}};
  hp::language_head{.vocabulary = vocabulary}(m, block(m, text.x), text.labels);
  expect_gradients(m);
}

TEST(Layers, GradientsOfAConvolutionWithABias) {
  hp::model_builder m;
  const int image = m.input("image", {m.dim("batch", 2), m.dim("colours", 3), m.dim("height", 4), m.dim("width", 5)});
  const int x = hp::convolution_layer{.output = m.dim("channels", 3), .padding = 1, .bias = true}(m, image);
  m.loss(m.apply<hp::ops::reduce>("loss", {m.apply<hp::ops::gelu>("activation", {x})}, {.text = "*->"}));
  expect_gradients(m);
}

TEST(Layers, GradientsOfATiedHead) {
  hp::model_builder m({.unrolled = true});
  const programs::text_inputs text(m, {2, 5, vocabulary, 8});
  hp::language_head{.vocabulary = vocabulary, .tied_to = "embedding"}(m, hp::swiglu_layer{.width = 12}(m, text.x),
                                                                      text.labels);
  expect_gradients(m);
}

TEST(Layers, GradientsOfParallelBlocks) {
  hp::model_builder m({.unrolled = true});
  const programs::text_inputs text(m, {2, 5, vocabulary, 8});
  const hp::parallel_block<hp::attention_layer, hp::gelu_layer, hp::layer_norm_layer> block{
      .attention = {.query_heads = 2, .key_heads = 2, .head_dim = 4, .rope_base = 1e4}, .feed_forward = {.width = 12}};
  int x = m.scope("first", [&] { return block(m, text.x); });
  x = m.scope("second", [&] {
    auto two = block;
    two.two_norms = true;
    return two(m, x);
  });
  hp::language_head{.vocabulary = vocabulary}(m, x, text.labels);
  expect_gradients(m);
}

TEST(Layers, AMixtureIsTheWeightedSumOfItsExperts) {
  constexpr std::size_t tokens = 12, hidden = 4, experts = 5, top_k = 2, width = 3;
  for (const hp::expert_scores scores : {hp::expert_scores::softmax, hp::expert_scores::sigmoid}) {
    token_graph g(2, 6, hidden);
    const int y = hp::mixture_of_experts{.experts = experts,
                                         .top_k = top_k,
                                         .width = width,
                                         .scores = scores,
                                         .weight_scale = 2.5,
                                         .slots = hp::expert_slots::dropless,
                                         .balance_scale = 0.1}(g.m, g.x);
    ASSERT_EQ(mistake(g.m.graph), "ok 0 0");
    hp::single_device<double> device(g.m.graph);
    std::mt19937 random(5);
    fill(device, random);
    const bool sigmoid = scores == hp::expert_scores::sigmoid;
    std::vector<double> bias(experts, 0.0);
    if (sigmoid) device.values("moe.router.bias") = bias = {0.3, -0.2, 0.1, 0.4, -0.4};
    device.run(hp::graph_phase::forward, hp::graph_phase::forward);

    const auto& x = device.values(g.x);
    const auto& router = device.values("moe.router.weight");
    const auto& gate = device.values("moe.experts.gate.weight");
    const auto& up = device.values("moe.experts.up.weight");
    const auto& down = device.values("moe.experts.down.weight");
    std::vector<double> chosen(experts), mass(experts);
    for (std::size_t t = 0; t < tokens; ++t) {
      std::vector<double> logit(experts), score(experts);
      double total = 0;
      for (std::size_t e = 0; e < experts; ++e) {
        for (std::size_t h = 0; h < hidden; ++h) logit[e] += x[t * hidden + h] * router[h * experts + e];
        total += std::exp(logit[e]);
      }
      for (std::size_t e = 0; e < experts; ++e) {
        mass[e] += std::exp(logit[e]) / total;
        score[e] = sigmoid ? 1 / (1 + std::exp(-logit[e])) : std::exp(logit[e]) / total;
      }
      std::vector<std::size_t> order(experts);
      for (std::size_t e = 0; e < experts; ++e) order[e] = e;
      std::sort(order.begin(), order.end(),
                [&](std::size_t a, std::size_t b) { return score[a] + bias[a] > score[b] + bias[b]; });
      const double sum = score[order[0]] + score[order[1]];
      std::vector<double> expected(hidden);
      for (std::size_t k = 0; k < top_k; ++k) {
        const std::size_t e = order[k];
        chosen[e] += 1;
        for (std::size_t f = 0; f < width; ++f) {
          double a = 0, b = 0;
          for (std::size_t h = 0; h < hidden; ++h) {
            a += x[t * hidden + h] * gate[(e * hidden + h) * width + f];
            b += x[t * hidden + h] * up[(e * hidden + h) * width + f];
          }
          const double activation = a / (1 + std::exp(-a)) * b * 2.5 * score[e] / sum;
          for (std::size_t h = 0; h < hidden; ++h) expected[h] += activation * down[(e * width + f) * hidden + h];
        }
      }
      for (std::size_t h = 0; h < hidden; ++h) EXPECT_NEAR(device.values(y)[t * hidden + h], expected[h], 1e-12);
    }
    double balance = 0;
    for (std::size_t e = 0; e < experts; ++e)
      balance += chosen[e] / static_cast<double>(tokens * top_k) * mass[e] / static_cast<double>(tokens);
    EXPECT_NEAR(device.values("moe.balance_loss")[0], 0.1 * static_cast<double>(experts) * balance, 1e-14);
  }
}

}  // namespace
