// SPDX-License-Identifier: Apache-2.0
#pragma once
// Worlds of steps with a budget of memory beside the same without one: losses, weights, and what either holds.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <hyperparallel/pipeline/schedules/one_forward_one_backward.hpp>
#include <hyperparallel/step/pipelined_step.hpp>
#include <hyperparallel/world/model_run.hpp>
#include <hyperparallel/world/step_budget.hpp>
#include <hyperparallel/world/world.hpp>

#include <gtest/gtest.h>

#include "step/two_layers.hpp"

namespace step_budgets {

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

}  // namespace step_budgets
