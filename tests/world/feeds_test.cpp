// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/feeds.hpp>

#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/step/training_step.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace {

namespace hp = hyperparallel;
using namespace hp::literals;

struct model {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 8), hidden = m.dim("hidden", 4);
    const int ids = m.index_input("ids", {batch}), x = m.input("x", {batch, hidden});
    const int rows = m.apply<hp::ops::embed>("rows", {ids, m.parameter("table", {m.dim("vocab", 6), hidden})});
    m.loss(m.apply<hp::ops::reduce>("loss", {m.apply<hp::ops::multiply>("product", {rows, x})}, {.text = "*->"}));
  }
};
static_assert(hp::takes_inputs<model, "ids", "x"> && hp::takes_inputs<model, "x", "ids">);
static_assert(!hp::takes_inputs<model, "ids"> && !hp::takes_inputs<model, "ids", "x", "table">);
static_assert(!hp::takes_inputs<model, "ids", "X">);

TEST(Feeds, InputsAndResultsHaveNames) {
  hp::graph g = hp::build_model<model>();
  hp::differentiate(g);
  hp::append_optimizer(g, {});
  hp::model_run<float> run(g, hp::strategy_called("dp", 2).strategy);
  const std::vector<std::int32_t> ids{0, 1, 2, 3, 4, 5, 0, 1};
  const std::vector<float> x(32, 2.0F), table(24, 0.25F);
  run.world().set("table", table);
  hp::feed<model>(run.world(), hp::values("x"_n = x, "ids"_n = ids));
  run.train_step([](int) {});
  const auto made = hp::fetch<model>(run.world(), "loss"_n, "gradient(table)"_n);
  EXPECT_EQ(made["loss"_n], std::vector<float>{16});
  const float uses[] = {2, 2, 1, 1, 1, 1};
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(made["gradient(table)"_n][i], 2 * uses[i / 4]);
}

/// Layers that are repeated; one of them reads an input of its own.
struct repeated_model {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 4), hidden = m.dim("hidden", 4);
    int x = m.input("x", {batch, hidden});
    x = m.repeat("layers", 3, x, [&](hp::model_builder& b, int from) {
      const int noise = b.input("noise", {batch, hidden});
      return b.sum("noisy", hp::linear_layer{"map", {hidden}}(b, from), noise);
    });
    m.loss(m.apply<hp::ops::reduce>("loss", {x}, {.text = "*->"}));
  }
};
static_assert(hp::takes_inputs<repeated_model, "x", "layers.0.noise", "layers.1.noise", "layers.2.noise">);
static_assert(!hp::takes_inputs<repeated_model, "x", "layers.0-2.noise">, "names are those of the run");

TEST(Feeds, TensorsOfRepeatedLayersHaveTheNamesOfTheRun) {
  const hp::graph g = hp::training_graph<repeated_model>(hp::adamw::value, {.build = {.unrolled = true}});
  hp::model_run<float> run(g, hp::strategy_called("dp", 2).strategy);
  const std::vector<float> values(16, 1.0F);
  hp::feed<repeated_model>(run.world(), hp::values("x"_n = values, "layers.0.noise"_n = values,
                                                   "layers.1.noise"_n = values, "layers.2.noise"_n = values));
  run.train_step([](int) {});
  const auto made = hp::fetch<repeated_model>(run.world(), "layers.2.map.weight"_n, "gradient(layers.0.map.weight)"_n);
  EXPECT_EQ(made["layers.2.map.weight"_n], run.world().get("layers.2.map.weight"));
  EXPECT_EQ(made["gradient(layers.0.map.weight)"_n], run.world().get("gradient(layers.0.map.weight)"));
}

TEST(Feeds, SizesAreCheckedWhenTheyAreFed) {
  hp::graph g = hp::build_model<model>();
  hp::differentiate(g);
  hp::append_optimizer(g, {});
  hp::model_run<float> run(g, hp::strategy_called("dp", 2).strategy);
  const std::vector<std::int32_t> ids(8, 9);
  const std::vector<float> x(32), few(31);
  EXPECT_THROW(hp::feed<model>(run.world(), hp::values("x"_n = few, "ids"_n = ids)), hp::program_error);
  EXPECT_THROW(hp::feed<model>(run.world(), hp::values("x"_n = x, "ids"_n = ids)), hp::program_error) << "9 of 6 rows";
}

}  // namespace
