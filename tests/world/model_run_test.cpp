// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/model_run.hpp>

#include <hyperparallel/graph/in_floats.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

#include <support/error_of.hpp>
#include <world/small_models.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace hp = hyperparallel;

namespace {

hp::strategy_value strategy(const char* name, int ranks) { return hp::strategy_called(name, ranks).strategy; }

TEST(ModelRun, EveryStrategyBeginsWithTheSameValues) {
  const hp::graph g = small_models::decoder({.layers = 2, .experts = true, .type = hp::f64});
  hp::model_run<double> alone(g, strategy("single", 1)), spread(g, strategy("zero3-tp", 4));
  for (int t = 0; t < g.tensor.size; ++t) {
    if (g.tensor[t].kind != hp::graph_tensor_kind::parameter || g.tensor[t].replaces >= 0) continue;
    EXPECT_EQ(alone.world().get(t), spread.world().get(t)) << g.name_of_tensor(t);
  }
}

TEST(ModelRun, WeightsHaveTheVarianceOfTheirFirstReader) {
  const hp::graph g = small_models::decoder({.type = hp::f64});
  hp::model_run<double> run(g, strategy("single", 1));
  const auto deviation = [&](const char* name) {
    double sum = 0;
    const std::vector<double> values = run.world().get(name);
    for (const double x : values) sum += x * x;
    return std::sqrt(sum / static_cast<double>(values.size()));
  };
  EXPECT_NEAR(deviation("layer.0.attention.query.weight"), 1 / std::sqrt(16.0), 0.02);
  EXPECT_NEAR(deviation("layer.0.attention.output.weight"), 1 / std::sqrt(32.0), 0.02);
  EXPECT_NEAR(deviation("layer.0.feed_forward.down.weight"), 1 / std::sqrt(32.0), 0.02);
  EXPECT_NEAR(deviation("embedding.weight"), 1 / std::sqrt(16.0), 0.02);
  EXPECT_EQ(run.world().get("layer.0.attention_norm.weight"), std::vector<double>(16, 1.0));
  const std::vector<double> up = run.world().get("layer.0.feed_forward.up.weight");
  EXPECT_NE(up, run.world().get("layer.0.feed_forward.gate.weight"));  // a stream for each name
}

TEST(ModelRun, TrainingOnOneBatchLowersTheLoss) {
  for (const hp::optimizer_kind kind : {hp::optimizer_kind::adamw, hp::optimizer_kind::muon}) {
    const hp::graph g = small_models::decoder({.micro_batches = 2, .optimizer = kind});
    hp::model_run<float> run(g, strategy("dp-tp", 4));
    const auto feed = [&](int micro_batch) { run.set_random_inputs(static_cast<std::uint64_t>(micro_batch)); };
    const float before = run.train_step(feed);
    float after = before;
    for (int step = 1; step < 30; ++step) after = run.train_step(feed);
    EXPECT_EQ(run.steps(), 30);
    EXPECT_LT(after, 0.9F * before) << hp::name_of(kind);
    run.set_first_values();
    EXPECT_EQ(run.steps(), 0);
    EXPECT_EQ(run.train_step(feed), before);
  }
}

TEST(ModelRun, MastersBeginAsTheirParameters) {
  const hp::graph g = small_models::decoder({.type = hp::data_type::bf16});
  ASSERT_GE(hp::find_tensor(g, "master(embedding.weight)"), 0);
  hp::model_run<double> run(hp::in_floats(g, hp::f64), strategy("zero1", 4));
  EXPECT_EQ(run.world().get("master(embedding.weight)"), run.world().get("embedding.weight"));
  const double first = run.train_step([&](int) { run.set_random_inputs(0); });
  EXPECT_LT(run.train_step([&](int) { run.set_random_inputs(0); }), first);
}

TEST(ModelRun, RandomInputsStayBelowTheirLimits) {
  const hp::graph g = small_models::decoder({});
  hp::model_run<float> run(g, strategy("dp", 2));
  EXPECT_EQ(hp::detail::index_limit(g, hp::find_tensor(g, "tokens")), 32);
  EXPECT_EQ(hp::detail::index_limit(g, hp::find_tensor(g, "labels")), 32);
  run.set_random_inputs(1);
  const std::vector<std::int32_t> tokens = run.world().get_index("tokens");
  EXPECT_GE(*std::min_element(tokens.begin(), tokens.end()), 0);
  EXPECT_LT(*std::max_element(tokens.begin(), tokens.end()), 32);
  EXPECT_NE(tokens, run.world().get_index("labels"));
  run.set_random_inputs(2);
  EXPECT_NE(tokens, run.world().get_index("tokens"));
  run.set_random_inputs(1);
  EXPECT_EQ(tokens, run.world().get_index("tokens"));
}

TEST(ModelRun, RefusalsNameStrategyAxisAndDim) {
  const hp::graph g = small_models::decoder({});
  const auto message = [](const hp::graph& model, const hp::strategy_value& s) {
    return tested::error_of<hp::program_error>([&] { hp::model_run<float> run(model, s); });
  };
  const std::string batch = message(g, strategy("dp", 8));
  EXPECT_NE(batch.find("strategy \"dp\" is refused: dim_does_not_divide"), std::string::npos) << batch;
  EXPECT_NE(batch.find("axis \"dp\""), std::string::npos) << batch;
  EXPECT_NE(batch.find("dim \"batch\", 4 by 8"), std::string::npos) << batch;
  hp::graph wrong = g;
  wrong.fail({hp::graph_code::heads_do_not_divide, g.op[0].name});
  EXPECT_NE(message(wrong, strategy("dp", 2)).find("heads_do_not_divide, operator \"embedding\""), std::string::npos)
      << message(wrong, strategy("dp", 2));
}

}  // namespace
