// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/io/training_checkpoint.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>

#include <io/workplace.hpp>
#include <models/piped_model.hpp>
#include <support/error_of.hpp>
#include <world/small_models.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

template <class T>
using run_of = hp::model_run<T>;

template <class T>
run_of<T> small_run(const char* strategy, hp::data_type type) {
  return run_of<T>(small_models::decoder({.type = type}), hp::strategy_called(strategy, 2).strategy);
}
template <class T>
std::vector<T> train(run_of<T>& run, int steps) {
  std::vector<T> losses;
  for (int i = 0; i < steps; ++i)
    losses.push_back(run.train_step([&](int) { run.set_random_inputs(static_cast<std::uint64_t>(run.steps())); }));
  return losses;
}

/// The bits of a training that was not interrupted, of f32, f64, and bf16 with masters.
template <class T>
void expect_to_go_on(hp::data_type type) {
  const io_test::workplace here;
  const std::string file = here.path("run.safetensors");
  run_of<T> whole = small_run<T>("dp", type), first = small_run<T>("dp", type), second = small_run<T>("dp", type);
  const std::vector<T> losses = train(whole, 5);
  train(first, 2);
  hp::save_training(file, first);
  train(second, 3);  // what is loaded replaces what it has learnt
  hp::load_training(file, second);
  EXPECT_EQ(second.steps(), 2);
  EXPECT_EQ(train(second, 3), std::vector<T>(losses.begin() + 2, losses.end()));
}
TEST(TrainingCheckpoint, GoesOnWithTheSameBits) {
  expect_to_go_on<float>(hp::f32);
  expect_to_go_on<double>(hp::f64);
  expect_to_go_on<float>(hp::bf16);
}

TEST(TrainingCheckpoint, GoesOnUnderAnotherStrategy) {
  const io_test::workplace here;
  const std::string file = here.path("run.safetensors");
  run_of<double> whole = small_run<double>("dp", hp::f64), first = small_run<double>("dp", hp::f64),
                 second = small_run<double>("zero3", hp::f64);
  const std::vector<double> losses = train(whole, 4);
  train(first, 2);
  hp::save_training(file, first);
  train(second, 1);
  hp::load_training(file, second);
  const std::vector<double> rest = train(second, 2);
  for (std::size_t i = 0; i < rest.size(); ++i) EXPECT_NEAR(rest[i], losses[i + 2], 1e-9);
}

/// Saved by a pipeline whose groups have strategies of their own, it goes on without stages, under another cut, and in other
/// micro-batches.
TEST(TrainingCheckpoint, GoesOnUnderOtherStagesAndMicroBatches) {
  const io_test::workplace here;
  const std::string file = here.path("run.safetensors");
  const hp::graph g = programs::piped_graph(4, 4, nullptr, hp::f64);
  const auto called = [](const char* name, int ranks) { return hp::strategy_called(name, ranks).strategy; };
  hp::pipeline_value folded{.schedule = hp::schedule_called("ZB-V"), .ranks = 2, .chunks = 2};
  for (const hp::strategy_value& s : {called("dp", 4), called("tp", 2)}) folded.strategy.push(s);
  const hp::pipeline_value straight{.schedule = hp::schedule_called("1F1B"), .ranks = 4};
  const auto step = [](auto& run) {
    const std::uint64_t first = 8 * static_cast<std::uint64_t>(run.steps());
    return run.train_step([&](int micro) { run.set_random_inputs(first + static_cast<std::uint64_t>(micro)); });
  };
  run_of<double> whole(g, called("single", 1)), saved(g, {}, folded);
  for (int s = 0; s < 2; ++s) EXPECT_NEAR(step(whole), step(saved), 1e-12);
  hp::save_training(file, saved);
  run_of<double> sharded(g, called("zero1", 4)), staged(g, called("zero2", 2), straight);
  for (run_of<double>* run : {&sharded, &staged}) hp::load_training(file, *run);
  for (int s = 0; s < 2; ++s) {
    const double expected = step(whole);
    EXPECT_NEAR(step(sharded), expected, 1e-12);
    EXPECT_NEAR(step(staged), expected, 1e-12);
  }
  run_of<double> twice(programs::piped_graph(4, 2, nullptr, hp::f64), called("zero1", 4));
  hp::load_training(file, twice);
  EXPECT_EQ(twice.steps(), 2);
  EXPECT_GT(step(twice), 0);
}

/// What the stages of a pipeline accumulate of a tied table's gradient is in no file: each cut has other such states, and
/// a run without stages none.
TEST(TrainingCheckpoint, OfATiedModelGoesOnUnderAnotherCut) {
  const io_test::workplace here;
  const hp::graph g = programs::tied_graph(4, 4);
  const hp::strategy_value single = hp::strategy_called("single", 1).strategy;
  const hp::pipeline_value two{.schedule = hp::schedule_called("1F1B"), .ranks = 2},
      four{.schedule = hp::schedule_called("ZB-H1"), .ranks = 4};
  run_of<double> whole(g, single), first(g, single, two), same(g, single, two), other(g, single, four),
      plain(g, single);
  const std::vector<double> losses = train(whole, 4);
  const std::string file = here.path("run.safetensors"), again = here.path("again.safetensors");
  EXPECT_NE(hp::find_tensor(first.model(), "accumulated(embedding.weight) in stage 1"), -1);
  train(first, 2);
  hp::save_training(file, first);
  const std::vector<double> uninterrupted = train(first, 2);
  const hp::safetensors_file saved(file);
  for (const hp::tensor_entry& t : saved.header().tensors)
    EXPECT_EQ(t.name.find("in stage"), std::string::npos) << t.name;
  train(same, 1);
  hp::load_training(file, same);
  EXPECT_EQ(train(same, 2), uninterrupted);
  for (run_of<double>* run : {&other, &plain}) {
    hp::load_training(file, *run);
    const std::vector<double> rest = train(*run, 2);
    for (std::size_t i = 0; i < rest.size(); ++i) EXPECT_NEAR(rest[i], losses[i + 2], 1e-9);
    hp::save_training(again, *run);
    hp::load_training(again, first);
    EXPECT_EQ(first.steps(), 4);
  }
}

TEST(TrainingCheckpoint, OfAnotherModelIsRefusedAndChangesNothing) {
  const io_test::workplace here;
  const std::string file = here.path("run.safetensors");
  run_of<float> two(small_models::decoder({.layers = 2}), hp::strategy_called("dp", 2).strategy),
      one = small_run<float>("dp", hp::f32), other = small_run<float>("dp", hp::f32);
  hp::save_training(file, two);
  EXPECT_THROW(hp::load_training(file, one), hp::checkpoint_error);
  EXPECT_EQ(one.steps(), 0);
  EXPECT_EQ(train(one, 2), train(other, 2));
}

}  // namespace
