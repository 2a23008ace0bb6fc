// SPDX-License-Identifier: Apache-2.0
// Training in 16-bit storage with binary32 arithmetic and masters: every strategy against one device in the same types.
#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/in_floats.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/step/training_step.hpp>
#include <hyperparallel/strategy/memory_account.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include "models/language_model.hpp"
#include "support/error_of.hpp"
#include "support/tries.hpp"
#include "training_models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace {

namespace hp = hyperparallel;
using hp::data_type;
using tested::error_of;

hp::graph narrow_step(data_type type) {
  hp::model_builder m({.activation = type, .parameter = type, .unrolled = true});
  models::build_small_moe(m, {.batch = 8,
                              .sequence = 16,
                              .layers = 2,
                              .hidden = 32,
                              .query_heads = 16,
                              .key_heads = 8,
                              .head_dim = 4,
                              .expert_width = 16});
  return programs::trained(m, {.unrolled = true});
}

std::vector<float> losses(hp::model_run<float>& run, int steps) {
  std::vector<float> all;
  for (int s = 0; s < steps; ++s)
    all.push_back(run.train_step([&](int) { run.set_random_inputs(static_cast<std::uint64_t>(s % 2)); }));
  return all;
}

// Sums of other orders are rounded to 8 bits of fraction (bf16) or 11 (f16) where they are stored, so losses part by some
// units of these in the first steps.
void expect_one_device(data_type type, float tolerance, int every) {
  const hp::graph g = narrow_step(type);
  ASSERT_EQ(g.status.code, hp::graph_code::ok);
  const int steps = tested::tries(4, 100);
  hp::model_run<float> single(g, hp::strategy_called("single", 1).strategy);
  const std::vector<float> one = losses(single, steps);
  hp::model_run<float> wide(hp::in_floats(g, data_type::f32), hp::strategy_called("single", 1).strategy);
  const std::vector<float> in_float = losses(wide, steps);
  EXPECT_LT(one.back(), one.front()) << "it learns";
  EXPECT_NE(one, in_float) << "16 bits are another arithmetic";
  EXPECT_NEAR(one.front(), in_float.front(), tolerance * in_float.front());
  float worst = 0;
  for (int i = 0; i < hp::named_strategy_count; i += every) {
    const char* const name = hp::named_strategy_at(i).name;
    hp::model_run<float> run(g, hp::strategy_called(name, 8).strategy);
    const std::vector<float> many = losses(run, steps);
    for (std::size_t s = 0; s < many.size(); ++s) {
      const float apart = std::abs(many[s] - one[s]) / one[s];
      EXPECT_LE(apart, tolerance) << name << ", step " << s;
      worst = std::max(worst, apart);
    }
  }
  std::printf("losses within %.2g of one device\n", static_cast<double>(worst));
}

// The thread sanitizer looks at every access: a few strategies show it every kind of task.
#if defined(__SANITIZE_THREAD__)
constexpr int many = 6;
#else
constexpr int many = 1;
#endif

TEST(MixedPrecision, BrainFloatsTrainUnderEveryNamedStrategy) { expect_one_device(data_type::bf16, 1e-2F, many); }
TEST(MixedPrecision, HalfFloatsTrainUnderEveryNamedStrategy) {
  expect_one_device(data_type::f16, 2e-3F, tested::exhaustive() ? 1 : 5);
}

hp::graph dense_step(data_type type) {
  hp::model_builder m({.activation = type, .parameter = type, .unrolled = true});
  const hp::transformer_block<hp::attention_layer, hp::swiglu_layer> block{
      .attention = {.query_heads = 8, .key_heads = 8, .head_dim = 8, .rope_base = 1e4}, .feed_forward = {.width = 128}};
  programs::language_model(m, {.batch = 8, .sequence = 16, .vocabulary = 64, .hidden = 64}, "layers", 4, block);
  return programs::trained(m, {.unrolled = true});
}

/// The gradients of the first step, by parameter.
std::vector<std::vector<float>> first_gradients(const hp::graph& g, const hp::strategy_value& s) {
  hp::model_run_options options;
  options.program.keep = training::gradient_names(g);
  hp::model_run<float> run(g, s, options);
  losses(run, 1);
  std::vector<std::vector<float>> all;
  for (const std::string& name : options.program.keep) all.push_back(run.world().get(name));
  return all;
}

/// Root mean square of what parts `x` from `y`, in that of `y`.
double apart(const std::vector<float>& x, const std::vector<float>& y) {
  double difference = 0, size = 0;
  for (std::size_t e = 0; e < y.size(); ++e) {
    difference += std::pow(static_cast<double>(x[e]) - static_cast<double>(y[e]), 2);
    size += std::pow(static_cast<double>(y[e]), 2);
  }
  return std::sqrt(difference / size);
}

// Training amplifies roundings, so what a strategy may add is held where nothing has grown yet. Data parallelism computes
// the same forward, so its gradients part from one device's by the rounding of one term a rank and of their sum: 1 / 400
// of their size, where a unit in the last place is 1 / 128 to 1 / 256. Sums that were rounded term by term, or terms of
// fewer bits, leave that.
TEST(MixedPrecision, FirstGradientsPartByOneRoundingOfATerm) {
  const hp::graph narrow = dense_step(data_type::bf16), wide = dense_step(data_type::f32);
  ASSERT_EQ(narrow.status.code, hp::graph_code::ok);
  const hp::strategy_value single = hp::strategy_called("single", 1).strategy;
  const auto exact = first_gradients(wide, single), one = first_gradients(narrow, single);
  for (const char* const name : {"dp", "zero3"}) {
    const auto ranks = first_gradients(narrow, hp::strategy_called(name, 8).strategy);
    for (std::size_t p = 0; p < one.size(); ++p) EXPECT_LT(apart(ranks[p], one[p]), 1.0 / 256) << name << " " << p;
  }
  // Tensor parallelism sums activations in another order: as far from binary32 as one device is.
  const auto ranks = first_gradients(narrow, hp::strategy_called("dp-tp", 8, {4, 2}).strategy);
  for (std::size_t p = 0; p < one.size(); ++p) EXPECT_LT(apart(ranks[p], exact[p]), 1.5 * apart(one[p], exact[p])) << p;
}

// A parameter is its master, rounded.
TEST(MixedPrecision, ParametersAreTheirRoundedMasters) {
  const hp::graph g = narrow_step(data_type::bf16);
  hp::model_run<float> run(g, hp::strategy_called("zero3", 4).strategy);
  losses(run, 2);
  int masters = 0;
  for (const int p : training::parameters_of(g)) {
    const int master = hp::find_tensor(g, ("master(" + std::string(g.name_of_tensor(p)) + ")").c_str());
    ASSERT_GE(master, 0);
    const std::vector<float> narrow = run.world().get(p), exact = run.world().get(master);
    for (std::size_t e = 0; e < narrow.size(); ++e)
      ASSERT_EQ(narrow[e], hp::detail::to_float(hp::detail::to_bf16(exact[e])));
    ++masters;
  }
  EXPECT_GT(masters, 10);
}

// Half of the bytes travel, and memory is what the account of these types says.
TEST(MixedPrecision, MemoryAndTrafficAreThoseOfTheTypes) {
  const hp::graph g = narrow_step(data_type::bf16);
  const hp::strategy_value s = hp::strategy_called("zero3", 4).strategy;
  hp::model_run<float> narrow(g, s), wide(hp::in_floats(g, data_type::f32), s);
  losses(narrow, 1);
  losses(wide, 1);
  EXPECT_LT(narrow.world().received(0), 0.6 * static_cast<double>(wide.world().received(0)));
  const double account = static_cast<double>(hp::detail::memory_account_of(narrow.world().program(), 64).peak);
  EXPECT_NEAR(static_cast<double>(narrow.world().alive_maximum()), account, 0.01 * account);
  EXPECT_LE(static_cast<double>(narrow.world().high_water(0)), 1.05 * account);
}

struct tiny_model {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 4), seq = m.dim("seq", 8);
    const int tokens = m.index_input("tokens", {batch, seq}), labels = m.index_input("labels", {batch, seq});
    const int x = hp::token_embedding{.vocabulary = 32, .hidden = 16}(m, tokens);
    hp::language_head{.vocabulary = 32}(m, hp::swiglu_layer{.width = 32}(m, x), labels);
  }
};

/// The loss of a few steps of `tiny_model` in the types that the option of a step says.
template <class T, class Precision>
double loss_in(const char* strategy, int ranks) {
  hp::step_settings settings;
  Precision::apply(settings);
  settings.build.unrolled = true;
  hp::model_run<T> run(hp::training_graph<tiny_model>(hp::adamw::value, settings),
                       hp::strategy_called(strategy, ranks).strategy);
  double loss = 0;
  for (int s = 0; s < 4; ++s) loss = static_cast<double>(run.train_step([&](int) { run.set_random_inputs(1); }));
  return loss;
}

TEST(MixedPrecision, WhatAStepSaysIsWhatRuns) {
  using doubles = hp::precision<hp::f64>;
  using masters = hp::precision<hp::f32, hp::bf16>;
  const double exact = loss_in<double, doubles>("single", 1);
  EXPECT_NEAR((loss_in<double, doubles>("zero1", 4)), exact, 1e-12 * exact);
  EXPECT_NEAR((loss_in<float, hp::precision<hp::f32>>("zero1", 4)), exact, 1e-5 * exact);
  for (const double loss : {loss_in<float, hp::precision<hp::bf16>>("zero1", 4), loss_in<float, masters>("zero1", 4)}) {
    EXPECT_NEAR(loss, exact, 1e-2 * exact);
    EXPECT_GT(std::abs(loss - exact), 1e-6 * exact) << "16 bits are another arithmetic";
  }
  EXPECT_THROW((loss_in<float, doubles>("single", 1)), hp::program_error);
}

// What no kernel computes is refused by name.
TEST(MixedPrecision, TypesWithoutAKernelAreRefused) {
  const hp::strategy_value s = hp::strategy_called("dp", 2).strategy;
  EXPECT_EQ(error_of<hp::program_error>([&] { hp::model_run<float>(narrow_step(data_type::f64), s); }),
            "operator embedding (embed) has no kernel for \"embedding.weight\" of f64 that computes in f32");
  for (const data_type type : {data_type::f16, data_type::bf16, data_type::f32})
    EXPECT_EQ(error_of<hp::program_error>([&] { hp::model_run<double>(narrow_step(type), s); }),
              "operator embedding (embed) has no kernel for \"embedding.weight\" of " + std::string(hp::name_of(type)) +
                  " that computes in f64");
  hp::graph wide_labels = narrow_step(data_type::f32);
  wide_labels.tensor[hp::find_tensor(wide_labels, "labels")].type = data_type::i64;
  EXPECT_EQ(error_of<hp::program_error>([&] { hp::model_run<float>(wide_labels, s); }),
            "operator head.picked (pick) has no kernel for \"labels\" of i64 that computes in f32");
}

}  // namespace
