// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/io/training_checkpoint.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>

#include <io/workplace.hpp>
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
