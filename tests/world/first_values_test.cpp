// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/first_values.hpp>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/model_builder.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

/// y = x weight + bias: an operator of a user, who says how its parameters begin.
struct scaled_and_shifted {
  static constexpr const char *name = "scaled_and_shifted", *text = "*H,H,H->*H";
  static constexpr unsigned starts_at_one = 0b010, starts_at_zero = 0b100;
};
struct silent_scale {
  static constexpr const char *name = "silent_scale", *text = "*H,H->*H";
};
using mine = hp::operators<hp::builtin, scaled_and_shifted, silent_scale>;

hp::detail::first_values of(const hp::graph& g, const char* name) {
  const int t = hp::find_tensor(g, name);
  EXPECT_GE(t, 0) << name;
  return hp::detail::first_values_of(g, t);
}
constexpr hp::detail::first_values zeros{0, 0}, ones{0, 1};
hp::detail::first_values drawn(double width) { return {1 / std::sqrt(width), 0}; }

TEST(FirstValues, WeightsOfNormsAreOneAndBiasesZero) {
  hp::model_builder m({.operators = mine::list});
  const int batch = m.dim("batch", 2), group = m.dim("group", 3), channel = m.dim("channel", 4),
            place = m.dim("place", 5);
  int x = m.input("x", {batch, group, channel, place});
  x = hp::group_norm_layer{.name = "groups", .positions = 1}(m, x);
  x = hp::layer_norm_layer{"rows"}(m, x);
  x = hp::rms_norm_layer{"root"}(m, x);
  const int weight = m.parameter("own.weight", {place}), bias = m.parameter("own.bias", {place});
  x = m.apply<scaled_and_shifted>("own", {x, weight, bias});
  ASSERT_EQ(m.graph.status.code, hp::graph_code::ok);
  for (const char* name : {"groups.weight", "rows.weight", "root.weight", "own.weight"})
    EXPECT_EQ(of(m.graph, name), ones) << name;
  for (const char* name : {"groups.bias", "rows.bias", "own.bias"}) EXPECT_EQ(of(m.graph, name), zeros) << name;
}

TEST(FirstValues, WhatIsAddedBeginsAtZeroAndWhatMultipliesAtOne) {
  hp::model_builder m;
  const int batch = m.dim("batch", 2), hidden = m.dim("hidden", 4);
  int x = m.input("x", {batch, hidden});
  const int bias = m.parameter("bias", {hidden}), shift = m.parameter("shift", {batch, hidden}),
            gain = m.parameter("gain", {batch, hidden});
  x = m.sum("biased", x,
            m.apply<hp::ops::broadcast>("repeated", {bias},
                                        {.text = "h->bh", .created = {{'b', batch}}, .created_count = 1}));
  x = m.sum("shifted", x, shift);
  x = m.apply<hp::ops::multiply>("scaled", {x, gain});
  hp::linear_layer{.name = "map", .output = {hidden}, .bias = true}(m, x);
  ASSERT_EQ(m.graph.status.code, hp::graph_code::ok);
  EXPECT_EQ(of(m.graph, "bias"), zeros);
  EXPECT_EQ(of(m.graph, "shift"), zeros);
  EXPECT_EQ(of(m.graph, "map.bias"), zeros);
  EXPECT_EQ(of(m.graph, "gain"), ones);
}

TEST(FirstValues, OthersHaveTheVarianceOfTheTermsOfOneSum) {
  hp::model_builder m({.operators = mine::list});
  const int batch = m.dim("batch", 2), channel = m.dim("channel", 3), row = m.dim("row", 8),
            column = m.dim("column", 8);
  const int picture = m.input("picture", {batch, channel, row, column});
  const int out = m.dim("out", 5);
  int x = hp::convolution_layer{.name = "filter", .output = out, .taps = 3, .padding = 1}(m, picture);
  x = hp::linear_layer{"joined", {m.dim("wide", 7)}, 2}(m, x);
  x = m.apply<silent_scale>("own", {x, m.parameter("own.weight", {m.dim("wide", 7)})});
  const int ids = m.index_input("ids", {batch, m.dim("seq", 6)});
  const int words = hp::token_embedding{.vocabulary = 100, .hidden = 16}(m, ids);
  hp::position_embedding{}(m, words);
  m.parameter("alone", {out});
  ASSERT_EQ(m.graph.status.code, hp::graph_code::ok);
  EXPECT_EQ(of(m.graph, "filter.weight"), drawn(3 * 3 * 3)) << "channels and taps";
  EXPECT_EQ(of(m.graph, "joined.weight"), drawn(64)) << "two dims are summed";
  EXPECT_EQ(of(m.graph, "own.weight"), drawn(7)) << "an operator that says nothing";
  EXPECT_EQ(of(m.graph, "embedding.weight"), drawn(16)) << "rows are gathered";
  EXPECT_EQ(of(m.graph, "position.weight"), drawn(16)) << "declared as drawn, though it is added";
  EXPECT_EQ(of(m.graph, "alone"), zeros);
}

TEST(FirstValues, ADeclarationWinsOverTheReader) {
  hp::model_builder m;
  const int batch = m.dim("batch", 2), hidden = m.dim("hidden", 4);
  const int x = m.input("x", {batch, hidden});
  const int none = m.parameter("none", {hidden}, hp::first_value::zeros);
  m.apply<hp::ops::rms_norm>("norm", {x, none});
  hp::linear_layer{.name = "map", .output = {hidden}, .first = hp::first_value::ones}(m, x);
  EXPECT_EQ(of(m.graph, "none"), zeros);
  EXPECT_EQ(of(m.graph, "map.weight"), ones);
}

TEST(FirstValues, ABlockWithGatesBeginsAsTheIdentity) {
  hp::model_builder m({.activation = hp::f64, .parameter = hp::f64});
  const int batch = m.dim("batch", 2), seq = m.dim("seq", 4), hidden = m.dim("hidden", 8);
  const int x = m.input("x", {batch, seq, hidden}), condition = m.input("condition", {batch, m.dim("condition", 6)});
  const hp::diffusion_block<hp::gelu_layer> block{.attention = {.query_heads = 2, .key_heads = 2, .head_dim = 4},
                                                  .feed_forward = {.width = 16}};
  const int y = block(m, x, condition);
  const int difference = m.sum("difference", y, m.apply<hp::ops::scale>("negated", {x}, {.real = {-1.0}}));
  const int square = m.apply<hp::ops::multiply>("square", {difference, difference});
  m.loss(m.apply<hp::ops::reduce>("loss", {square}, {.text = "*->"}));
  ASSERT_EQ(m.graph.status.code, hp::graph_code::ok);
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  hp::model_run<double> run(m.graph, hp::strategy_called("single", 1).strategy);
  EXPECT_EQ(run.world().get("attention_gate.weight"), std::vector<double>(6 * 8, 0));
  EXPECT_EQ(run.train_step([&](int) { run.set_random_inputs(0); }), 0.0);
}

}  // namespace
