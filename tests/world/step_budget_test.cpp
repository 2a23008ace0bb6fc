// SPDX-License-Identifier: Apache-2.0
// Worlds of steps with a budget of memory: planned at their start as their types say, with the bits of a world without one.
#include <hyperparallel/world/step_budget.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <hyperparallel/pipeline/schedules/one_forward_one_backward.hpp>
#include <hyperparallel/step/pipelined_step.hpp>
#include <hyperparallel/world/model_run.hpp>
#include <hyperparallel/world/world.hpp>

#include "step/two_layers.hpp"

namespace {

namespace hp = hyperparallel;

using namespace two_layers;
template <hp::data_type Type, class... Options>
using step_of = step_on<hp::matrix384, Type, Options...>;
using piped = hp::pipelined<hp::one_forward_one_backward, 2>;

/// The step without a budget, of which no constant is made.
template <class Hardware, hp::data_type Type, class... Options>
using free_on = hp::detail::evaluated_step<language_model, strategy, hp::adamw, Hardware, hp::precision<Type>,
                                           hp::accumulating<4>, Options...>;

/// A world of `Within`, by three steps, ends within its budget, and has the bits of `Free`.
template <class Within, class Free>
void expect_the_same_bits() {
  using number = typename hp::world<Within>::number;
  const std::vector<std::int32_t> tokens = numbers(1), labels = numbers(6);
  hp::world<Within> within;
  within.feed("tokens", std::span(tokens)).feed("labels", std::span(labels));
  hp::model_run<number> free(Free::lowered());
  const std::size_t micro_batch = tokens.size() / 4;
  std::vector<double> losses;
  for (int step = 0; step < 3; ++step)
    losses.push_back(free.train_step([&](int m) {
      free.world().set("tokens", std::span(tokens).subspan(static_cast<std::size_t>(m) * micro_batch, micro_batch));
      free.world().set("labels", std::span(labels).subspan(static_cast<std::size_t>(m) * micro_batch, micro_batch));
    }));
  EXPECT_EQ(within.train(3), losses);
  EXPECT_EQ(within.fetch("head.logits.weight"), free.world().get("head.logits.weight"));
  EXPECT_TRUE(within.run().world().offloading().feasible);
  EXPECT_LE(within.run().world().planned_bytes(0), Within::offload.budget);
  EXPECT_LT(within.run().world().planned_bytes(0), free.world().planned_bytes(0));
}

TEST(step_budget, a_pipeline_has_the_bits_of_one_without_a_budget) {
  expect_the_same_bits<step_of<hp::f32, piped, hp::offloaded_within<24192>>, free_on<hp::matrix384, hp::f32, piped>>();
}

TEST(step_budget, gradients_of_16_bits_are_looked_at_before_the_update) {
  using within = step_of<hp::bf16, piped, hp::offloaded_within<22456>>;
  static_assert(within::peak <= 22456 && within::offload.bytes_in > 0);
  expect_the_same_bits<within, free_on<hp::matrix384, hp::bf16, piped>>();
}

TEST(step_budget, so_has_a_step_without_stages) {
  expect_the_same_bits<step_of<hp::f32, hp::offloaded_within<36864>>, free_on<hp::matrix384, hp::f32>>();
}

TEST(step_budget, kernels_compute_in_the_type_of_the_model) {
  using within = step_on<hp::generic_host, hp::f64, piped, hp::offloaded_within<48192>>;
  static_assert(std::is_same_v<hp::world<within>::number, double>);
  expect_the_same_bits<within, free_on<hp::generic_host, hp::f64, piped>>();
}

}  // namespace
