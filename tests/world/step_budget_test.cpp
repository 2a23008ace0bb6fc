// SPDX-License-Identifier: Apache-2.0
// Worlds of steps with a budget of memory: planned at their start as their types say, with the bits of a world without one.
#include <hyperparallel/world/step_budget.hpp>

#include "world/step_budgets.hpp"

namespace {

using namespace step_budgets;

TEST(step_budget, a_pipeline_has_the_bits_of_one_without_a_budget) {
  expect_the_same_bits<step_of<hp::f32, piped, hp::offloaded_within<24192>>, free_on<hp::matrix384, hp::f32, piped>>();
}

TEST(step_budget, so_has_a_step_without_stages) {
  expect_the_same_bits<step_of<hp::f32, hp::offloaded_within<36864>>, free_on<hp::matrix384, hp::f32>>();
}

}  // namespace
