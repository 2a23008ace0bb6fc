// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/gradient_overflow.hpp>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/world/model_run.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "small_models.hpp"
#include "support/error_of.hpp"

namespace {

namespace hp = hyperparallel;
using hp::data_type;

/// The loss of rows · small + 10⁴ · (rows · large): the gradient of `large` is 4 · 10⁴ times its rows, beyond the 65 504 of f16.
hp::graph steep(data_type type, int micro_batches, double clip) {
  hp::model_builder m({.activation = type, .parameter = type, .unrolled = true});
  const int batch = m.dim("batch", 4), hidden = m.dim("hidden", 8), rows = m.input("rows", {batch, hidden});
  const int gentle = m.contract("gentle", "bh,h->b", rows, m.parameter("small", {hidden}));
  const int product = m.contract("product", "bh,h->b", rows, m.parameter("large", {hidden}));
  const int scaled = m.apply<hp::ops::scale>("scaled", {product}, {.real = {1e4}});
  m.loss(m.apply<hp::ops::reduce>("loss", {m.sum("sum", gentle, scaled)}, {.text = "b->"}));
  m.graph.micro_batches = micro_batches;
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {.clip = clip});
  return m.graph;
}

hp::model_run_options answering(hp::overflow_response overflow) {
  hp::model_run_options options;
  options.program.overflow = overflow;
  return options;
}
struct steep_run : hp::model_run<float> {
  steep_run(const hp::graph& g, const char* strategy, int ranks, hp::overflow_response overflow)
      : hp::model_run<float>(g, hp::strategy_called(strategy, ranks).strategy, answering(overflow)) {
    for (const char* parameter : {"large", "master(large)"}) world().set(parameter, std::vector<float>(8, 0x1p-20F));
  }
};
void set_rows(hp::model_run<float>& run, float value) { run.world().set("rows", std::vector<float>(32, value)); }

const std::vector<std::pair<const char*, int>> strategies{
    {"single", 1}, {"dp", 2}, {"dp", 4}, {"zero1", 4}, {"zero3", 4}};

TEST(GradientOverflow, EndsTheStepWithTheFirstTensorsName) {
  for (const auto& [name, ranks] : strategies)
    for (const int micro_batches : {1, 2})
      for (const double clip : {0.0, 1.0}) {
        const hp::graph g = steep(data_type::f16, micro_batches, clip);
        ASSERT_EQ(g.status.code, hp::graph_code::ok);
        steep_run run(g, name, ranks, hp::overflow_response::stop);
        const std::vector<float> large = run.world().get("large"), small = run.world().get("small");
        const std::string error =
            tested::error_of<hp::program_error>([&] { run.train_step([&](int) { set_rows(run, 16); }); });
        EXPECT_NE(error.find("large"), std::string::npos) << name << ": " << error;
        EXPECT_NE(error.find("is not finite"), std::string::npos) << name << ": " << error;
        EXPECT_EQ(run.steps(), 0) << name;
        EXPECT_EQ(run.world().get("large"), large) << name;
        EXPECT_EQ(run.world().get("small"), small) << name;
      }
}

// Steps whose gradients are finite are those of a run that looks at nothing, bit by bit.
TEST(GradientOverflow, LeavesOutTheUpdateAndGoesOn) {
  for (const auto& [name, ranks] : strategies)
    for (const int micro_batches : {1, 3}) {
      const hp::graph g = steep(data_type::f16, micro_batches, 1.0);
      steep_run run(g, name, ranks, hp::overflow_response::skip);
      steep_run calm(g, name, ranks, hp::overflow_response::ignore);
      for (int step = 0; step < 4; ++step) {
        const bool overflows = step == 1;
        // One micro-batch is enough.
        run.train_step([&](int m) { set_rows(run, overflows && m == 0 ? 64 : 0.25F); });
        if (!overflows) calm.train_step([&](int) { set_rows(calm, 0.25F); });
        EXPECT_EQ(run.steps(), calm.steps()) << name;
        EXPECT_EQ(run.skipped(), step >= 1 ? 1 : 0) << name;
        for (const char* parameter : {"large", "small", "master(large)"})
          EXPECT_EQ(run.world().get(parameter), calm.world().get(parameter)) << name << ", step " << step;
      }
    }
}

TEST(GradientOverflow, IsNotLookedAtWhereItIsIgnored) {
  const hp::graph g = steep(data_type::f16, 1, 0.0);
  steep_run run(g, "dp", 2, hp::overflow_response::ignore);
  run.train_step([&](int) { set_rows(run, 16); });
  EXPECT_FALSE(std::isfinite(run.world().get("large")[0]));
}

// The range of bf16 is that of binary32, in which gradients are computed: this one overflows in neither.
TEST(GradientOverflow, ARangeAsWideAsThatOfTheArithmeticDoesNotEndTheStep) {
  steep_run run(steep(data_type::bf16, 1, 1.0), "dp", 2, hp::overflow_response::stop);
  run.train_step([&](int) { set_rows(run, 16); });
  EXPECT_EQ(run.steps(), 1);
}

// What leaves for slower memory comes back for the update.
TEST(GradientOverflow, IsLookedAtUnderAMemoryBudget) {
  const hp::graph g = small_models::decoder({.layers = 4, .type = data_type::f16});
  const hp::strategy_value s = hp::strategy_called("dp", 2).strategy;
  const auto losses = [&](hp::overflow_response overflow, hp::extent_t bytes) {
    hp::model_run_options options = answering(overflow);
    options.program.budget.bytes = bytes;
    options.program.budget.tiers = {{2'000'000'000, 5'000'000}};
    options.program.budget.planning.effort = 50'000;
    hp::model_run<float> run(g, s, options);
    std::vector<float> all;
    for (int step = 0; step < 3; ++step)
      all.push_back(run.train_step([&](int m) { run.set_random_inputs(static_cast<std::uint64_t>(step + m)); }));
    if (bytes == 0) all.push_back(static_cast<float>(run.world().alive_maximum()));
    return all;
  };
  std::vector<float> whole = losses(hp::overflow_response::ignore, 0);
  const auto budget = static_cast<hp::extent_t>(whole.back()) * 3 / 4;
  whole.pop_back();
  EXPECT_EQ(losses(hp::overflow_response::skip, budget), whole);
}

}  // namespace
