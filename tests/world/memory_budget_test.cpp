// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/memory_budget.hpp>

#include <hyperparallel/lowering/offloaded_program.hpp>
#include <hyperparallel/lowering/program_slots.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <models/piped_model.hpp>
#include <support/error_of.hpp>
#include <world/small_models.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;
using tested::error_of;

hp::sharded_program program() {
  return hp::partition(small_models::decoder({}), hp::strategy_called("dp", 2).strategy);
}

std::string refusal(const hp::memory_budget& budget) {
  return error_of<hp::program_error>([&] { hp::planned_within(program(), budget); });
}

TEST(MemoryBudget, WhatCannotBeIsNamed) {
  const std::vector<hp::offload_link> tiers{{1'000'000'000, 0}};
  EXPECT_EQ(refusal({.bytes = -1, .tiers = tiers}), "budget of -1 bytes is negative");
  EXPECT_EQ(refusal({.bytes = 100'000, .tiers = tiers, .step_duration = {1, 2}}),
            "durations of 2 steps, the program has " + std::to_string(program().step.size));
  EXPECT_EQ(refusal({.bytes = 100'000, .tiers = {{0, 0}}}),
            "budget of 100000 bytes: the planner refuses the program: the link's bandwidth is not positive");
  EXPECT_EQ(
      refusal({.bytes = 100'000, .tiers = tiers, .rules = {{"*.wait", hp::offload_control::keep}}}),
      "budget of 100000 bytes: the rules are refused: rule 0, \"*.wait\": the rule's pattern describes no storage");
  EXPECT_EQ(
      refusal({.bytes = 100'000, .tiers = std::vector<hp::offload_link>(hp::max_memory_tiers, tiers[0])}),
      "budget of 100000 bytes: the planner refuses the program: there are more tiers or links than the planner takes");
  const std::string small = refusal({.bytes = 1000, .tiers = tiers});
  EXPECT_EQ(small.find("budget of 1000 bytes: the budget is too small, at least "), 0u) << small;
  EXPECT_NE(small.find(" are needed by "), std::string::npos) << small;
  EXPECT_NE(small.find("\" ("), std::string::npos) << small;
  EXPECT_EQ(small.find('\n'), std::string::npos);
}

TEST(MemoryBudget, ThePartOfAPipelineIsNamed) {
  const hp::pipelined_program p = programs::piped({hp::schedule_called("1F1B"), {2, 1, 4}});
  const auto refused = [&](std::int64_t bytes) {
    return error_of<hp::program_error>(
        [&] { hp::planned_within(p.program, {.bytes = bytes, .tiers = {{1'000'000'000, 0}}}); });
  };
  const std::string small = refused(1000), start = "budget of 1000 bytes: the budget is too small on part 0, at least ";
  ASSERT_EQ(small.find(start), 0u) << small;
  EXPECT_NE(small.find(" are needed by "), std::string::npos) << small;
  EXPECT_EQ(small.find('\n'), std::string::npos);
  // What is enough for the first part is not for the second, which has the head.
  const std::string least = small.substr(start.size(), small.find(" are") - start.size());
  EXPECT_EQ(
      refused(std::stoll(least)).find("budget of " + least + " bytes: the budget is too small on part 1, at least "),
      0u)
      << refused(std::stoll(least));
}

TEST(MemoryBudget, MeasuredDurationsTakeThePlaceOfRates) {
  const hp::sharded_program p = program();
  const hp::extent_t whole = hp::plan_addresses(p).high_water[0];
  hp::memory_budget budget{.bytes = whole / 2, .tiers = {{1'000'000'000, 0}}};
  budget.planning.effort = 200'000;
  budget.step_duration.assign(static_cast<std::size_t>(p.step.size), 5'000'000);
  const hp::offloaded_program o = hp::planned_within(p, budget);
  EXPECT_LE(o.addresses.high_water[0], whole / 2);
  EXPECT_GE(o.planned.certificate.time, 5'000'000 * hp::extent_t{p.compute.size});
  for (int i = 0; i < o.program.step.size; ++i) {
    const hp::program_step& s = o.program.step[i];
    if (s.is_move) continue;
    EXPECT_EQ(o.duration[i], 5'000'000);
  }
}

}  // namespace
