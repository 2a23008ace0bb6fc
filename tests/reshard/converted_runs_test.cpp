// SPDX-License-Identifier: Apache-2.0
// A language model as train_text trains it, kept by a run, converted to other layouts and names and back: logits on
// fixed inputs and what is trained on from there are the bits of the run where the arithmetic is, else the same numbers.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/checkpoint/run_checkpoints.hpp>
#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>
#include "reshard/reshard.hpp"

#include <io/workplace.hpp>

#include "../../examples/models/small_moe.hpp"

namespace hp = hyperparallel;
namespace rs = hp_tool::reshard;

namespace {

hp::strategy_value called(const char* name, int ranks) { return hp::strategy_called(name, ranks).strategy; }

hp::graph forward(hp::data_type type) {
  hp::model_builder m({.activation = type, .parameter = type, .unrolled = true});
  models::build_small_moe(m, {.batch = 4,
                              .sequence = 8,
                              .vocabulary = 32,
                              .layers = 2,
                              .hidden = 16,
                              .query_heads = 16,
                              .key_heads = 8,
                              .head_dim = 2,
                              .expert_width = 16});
  return m.graph;
}

hp::graph training(hp::data_type type) {
  hp::graph g = forward(type);
  hp::differentiate(g);
  hp::append_optimizer(g, {.rate = 0.01});
  return g;
}

/// Logits of the run's parameters on inputs that are always the same, and the loss behind them.
template <class T>
std::vector<T> logits_of(const hp::model_run<T>& run, hp::data_type type, const hp::strategy_value& s) {
  hp::model_run<T> judge(forward(type), s);
  const hp::graph& g = judge.model();
  int logits = -1;
  for (int t = 0; t < g.tensor.size; ++t) {
    const std::string name = g.name_of_tensor(t);
    if (g.tensor[t].kind == hp::graph_tensor_kind::parameter)
      judge.world().set(t, run.world().get(name));
    else if (name.ends_with("logits"))
      logits = t;
  }
  judge.set_random_inputs(77);
  judge.world().run_micro();
  std::vector<T> all = judge.world().get(logits);
  all.push_back(judge.world().loss());
  return all;
}

template <class T>
std::vector<T> train(hp::model_run<T>& run, int steps) {
  std::vector<T> losses;
  for (int i = 0; i < steps; ++i)
    losses.push_back(run.train_step([&](int) { run.set_random_inputs(static_cast<std::uint64_t>(run.steps())); }));
  return losses;
}

/// A run of two steps under `dp`, kept, and its set by way of each layout and map back to one file that runs load.
template <class T>
struct converted_run {
  io_test::workplace here{};
  hp::data_type type;
  hp::model_run<T> run;
  std::vector<T> logits, losses;
  std::vector<std::string> files{};

  explicit converted_run(hp::data_type t) : type(t), run(training(t), called("dp", 2)) {
    train(run, 2);
    hp::run_checkpoints saves(here.path("runs"), run, {.sizes = {{"group_heads", 2}, {"head_dim", 2}}});
    saves.save();
    logits = logits_of(run, type, called("dp", 2));
    const std::string set = here.path("runs/step_000000000002");
    for (const auto& [to, map] : std::vector<std::pair<const char*, const char*>>{
             {"tp=4", "ours"}, {"tp=4", "hf"}, {"tp=2,ep=2,pp=2", "hf"}, {"ep=8", "ours"}}) {
      const std::string name = std::string(to) + map;
      rs::execute_reshard(rs::prepare_reshard({.source = set, .target = here.path(name), .to = to, .to_map = map}));
      files.push_back(here.path(name + ".safetensors"));
      rs::execute_reshard(rs::prepare_reshard({.source = here.path(name), .target = files.back(), .to_map = "ours"}));
    }
    losses = train(run, 2);
  }
};

}  // namespace

TEST(ConvertedRuns, UnderTheSameStrategyHaveTheSameBits) {
  const auto hold = []<class T>(const converted_run<T>& c) {
    for (const std::string& file : c.files) {
      SCOPED_TRACE(file);
      hp::model_run<T> again(training(c.type), called("dp", 2));
      EXPECT_FALSE(logits_of(again, c.type, called("dp", 2)) == c.logits);
      EXPECT_EQ(hp::load_run(file, again).steps, 2);
      EXPECT_TRUE(logits_of(again, c.type, called("dp", 2)) == c.logits);
      EXPECT_EQ(train(again, 2), c.losses);
    }
  };
  hold(converted_run<float>(hp::f32));
  hold(converted_run<double>(hp::f64));
  hold(converted_run<float>(hp::bf16));
}

TEST(ConvertedRuns, UnderOtherStrategiesHaveTheSameNumbers) {
  const converted_run<double> c(hp::f64);
  for (const auto& [name, ranks] :
       std::vector<std::pair<const char*, int>>{{"single", 1}, {"tp", 4}, {"zero3", 4}, {"ep", 4}, {"dp-tp", 4}}) {
    SCOPED_TRACE(name);
    hp::model_run<double> other(training(c.type), called(name, ranks));
    hp::load_run(c.files[1], other);
    const std::vector<double> logits = logits_of(other, c.type, called(name, ranks));
    ASSERT_EQ(logits.size(), c.logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) ASSERT_NEAR(logits[i], c.logits[i], 1e-9);
    const std::vector<double> losses = train(other, 2);
    for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], c.losses[i], 1e-9);
  }
}
