// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/step/step_plan.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>

#include <models/stacked_model.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

hp::sharded_program program_of(const char* strategy, bool unrolled) {
  programs::stacked_model model;
  model.unrolled = unrolled;
  model.dense_layers = 3;
  model.key_heads = 4;
  return hp::partition(model.build(), hp::strategy_called(strategy, 4).strategy);
}

/// The size that a folded program tells is that of the unrolled plan.
TEST(StepPlan, ASizeIsToldByTheFoldedProgram) {
  int told = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const hp::sharded_program folded = program_of(hp::named_strategy_at(i).name, false),
                              unrolled = program_of(hp::named_strategy_at(i).name, true);
    if (folded.status.code != hp::strategy_code::ok || unrolled.status.code != hp::strategy_code::ok) continue;
    const hp::plan_size size = hp::size_of_plan(folded, hp::kinds_of_moves(folded));
    const hp::lowered_program l = hp::lower(unrolled, {}, hp::micro_phases | hp::update_phases);
    ASSERT_TRUE(l.status.ok());
    const hp::plan_size exact{unrolled.step.size, hp::extent_t{l.run[0].plan.row.size} * 4};
    EXPECT_EQ(hp::size_of_plan(unrolled, hp::kinds_of_moves(unrolled)), exact) << hp::named_strategy_at(i).name;
    // A folded segment moves what is carried into it once a repetition more than the unrolled one needs to.
    EXPECT_LE(std::abs(size.steps - exact.steps) * 20, exact.steps) << hp::named_strategy_at(i).name;
    EXPECT_LE(std::abs(size.tasks - exact.tasks) * 20, exact.tasks) << hp::named_strategy_at(i).name;
    ++told;
  }
  EXPECT_GE(told, 15);
}

TEST(StepPlan, AConstantHasALimit) {
  EXPECT_TRUE((hp::plan_size{hp::detail::most_planned_steps, hp::detail::most_planned_tasks}).may_be_constant());
  EXPECT_FALSE((hp::plan_size{hp::detail::most_planned_steps + 1, 0}).may_be_constant());
  EXPECT_FALSE((hp::plan_size{0, hp::detail::most_planned_tasks + 1}).may_be_constant());
}

}  // namespace
