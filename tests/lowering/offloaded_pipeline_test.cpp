// SPDX-License-Identifier: Apache-2.0
// Pipelines under a budget of memory: each part keeps it by a plan of its own, and what comes out is a program that is
// proved as any other.

#include <hyperparallel/lowering/lowered_offload.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include <hyperparallel/lowering/step_durations.hpp>
#include <hyperparallel/price/clock.hpp>
#include <hyperparallel/strategy/check_program.hpp>

#include "models/piped_model.hpp"
#include "support/tries.hpp"

namespace {

namespace hp = hyperparallel;

constexpr unsigned whole_step = hp::micro_phases | hp::update_phases;

constexpr hp::tier_hardware tiers(hp::extent_t budget) {
  hp::tier_hardware h;
  h.tier.push({budget, -1, -1});
  h.tier.push({hp::extent_t{1} << 40, 0, 1});
  h.link.push({4'000'000'000, 1'000'000});
  h.link.push(h.link[0]);
  return h;
}

hp::offloaded_program within(const hp::sharded_program& p, hp::extent_t budget, hp::offloading_options options = {}) {
  options.planning.effort = 100'000;
  return hp::offload(p, hp::step_durations(p, hp::kinds_of_moves(p)), tiers(budget), options);
}

struct piped_case {
  const char* schedule;
  hp::pipeline_shape shape;
  const char* strategy;
  int ranks;
};
constexpr piped_case cases[] = {{"1F1B", {4, 1, 8}, "single", 1}, {"1F1B", {2, 1, 4}, "tp", 2},
                                {"GPipe", {2, 1, 4}, "dp", 2},    {"ZB-V", {2, 2, 4}, "single", 1},
                                {"ZB-H1", {3, 1, 4}, "zero3", 2}, {"Interleaved1F1B", {2, 2, 4}, "single", 1},
                                {"DualPipe", {2, 1, 4}, "tp", 2}, {"V-Min", {2, 2, 4}, "ep", 2}};

hp::sharded_program program_of(const piped_case& c, const char* recomputed = nullptr) {
  hp::pipelined_program p =
      programs::piped({hp::schedule_called(c.schedule), c.shape}, c.strategy, c.ranks, 0, recomputed);
  EXPECT_TRUE(p.ok()) << c.schedule << ", " << c.strategy;
  return p.program;
}

TEST(OffloadedPipeline, KeepsTheBudgetInEachPartAndIsProved) {
  for (const piped_case& c : cases) {
    const hp::sharded_program p = program_of(c);
    const hp::program_addresses without = hp::plan_addresses(p);
    for (const int percent : {85, 70}) {
      SCOPED_TRACE(std::string(c.schedule) + ", " + c.strategy + ", " + std::to_string(percent) + " %");
      const hp::extent_t budget = without.high_water[0] * percent / 100;
      const hp::offloaded_program o = within(p, budget);
      ASSERT_TRUE(o.ok()) << to_text(o.code) << ", part " << o.part << ": " << to_text(o.inserted.code);
      EXPECT_EQ(hp::check_program(o.program).code, hp::program_code::ok);
      ASSERT_EQ(o.period.size, hp::parts_of(p));
      EXPECT_EQ(o.duration.size, o.program.step.size);
      for (int k = 0; k < hp::parts_of(p); ++k) {
        EXPECT_LE(o.addresses.high_water_of(k), budget);
        EXPECT_LE(o.period[k].time, o.planned.certificate.time);
        // What leaves a part lies in a slower tier of its own.
        if (without.high_water_of(k) > budget) {
          EXPECT_GT(o.addresses.high_water_of(k, 1), 0);
          EXPECT_GT(o.period[k].bytes_in, 0);
        }
      }
      const hp::lowered_program l = hp::lower_training(o, {});
      ASSERT_TRUE(l.status.ok()) << to_text(l.status.flow.code) << to_text(l.status.proof.code);
      ASSERT_EQ(l.run.size, 1);
      const hp::program_plan all = hp::plan_of_all_ranks(l.run[0].plan, l.program);
      const hp::program_proof proof =
          hp::prove_program(l.program, l.pulls, l.addresses, whole_step, all.machine, hp::table_of(all));
      EXPECT_EQ(proof.code, hp::program_proof_code::ok) << to_text(proof.code);
      std::printf("%-16s %-6s %d %%: %lld of %lld bytes, %lld steps more\n", c.schedule, c.strategy, percent,
                  static_cast<long long>(o.addresses.high_water[0]), static_cast<long long>(without.high_water[0]),
                  static_cast<long long>(o.program.step.size - p.step.size));
    }
  }
}

/// What a part works on, action by action.
std::vector<std::vector<int>> actions_of(const hp::sharded_program& p, int part) {
  std::vector<std::vector<int>> all;
  for (const hp::program_step& s : p.step) {
    if (hp::detail::part_of_step(p, s) != part) continue;
    const std::vector<int> one{static_cast<int>(s.phase), s.stage, s.micro_batch};
    if (all.empty() || all.back() != one) all.push_back(one);
  }
  return all;
}

/// Copies belong to the action that they stand in, so rows stay those of the schedule.
TEST(OffloadedPipeline, RowsAreThoseOfTheSchedule) {
  for (const piped_case& c : cases) {
    const hp::sharded_program p = program_of(c, "layers.*");
    const hp::offloaded_program o = within(p, hp::plan_addresses(p).high_water[0] * 3 / 4, {.recomputation = true});
    ASSERT_TRUE(o.ok()) << c.schedule << ": " << to_text(o.code);
    for (int k = 0; k < hp::parts_of(p); ++k) EXPECT_EQ(actions_of(o.program, k), actions_of(p, k)) << c.schedule;
  }
}

/// Of each part alone: the least budget.
std::vector<hp::extent_t> least_budgets(const hp::sharded_program& p) {
  const hp::program_moves moves = hp::kinds_of_moves(p);
  std::vector<hp::extent_t> least;
  for (int k = 0; k < hp::parts_of(p); ++k) {
    const hp::offload_period one =
        hp::offload_period_of(p, moves, hp::step_durations(p, moves), tiers(hp::extent_t{1} << 40), {.part = k});
    least.push_back(hp::least_budget(one.problem, hp::chains_of(one.problem)).bytes + one.kept_unused);
  }
  return least;
}

TEST(OffloadedPipeline, ABudgetThatIsTooSmallNamesThePartAndTheLeast) {
  for (const piped_case& c : cases) {
    const hp::sharded_program p = program_of(c);
    const std::vector<hp::extent_t> least = least_budgets(p);
    for (const hp::extent_t needed : least) {
      const hp::offloaded_program o = within(p, needed - 1);
      EXPECT_EQ(o.code, hp::offloading_code::budget_is_too_small) << c.schedule;
      int first = 0;
      while (least[static_cast<std::size_t>(first)] < needed) ++first;
      EXPECT_EQ(o.part, first) << c.schedule;
      EXPECT_EQ(o.planned.certificate.least_budget, least[static_cast<std::size_t>(first)]) << c.schedule;
      for (const int s : o.planned.alive) EXPECT_EQ(hp::detail::part_of_block(p, s), first);
    }
  }
}

/// A rule speaks of the parts that have what it names.
TEST(OffloadedPipeline, RulesDecideByNameInAllParts) {
  const hp::sharded_program p = program_of({"1F1B", {2, 1, 4}, "single", 1});
  const hp::extent_t whole = hp::plan_addresses(p).high_water[0];
  const auto tier_of_home = [&](const hp::offloaded_program& o, const char* name) {
    return hp::detail::tier_of(o.program, o.program.home[hp::find_tensor(p.graph, name)]);
  };
  hp::offloading_options options;
  options.rules.push({"head.*.weight", hp::offload_control::offload});
  const hp::offloaded_program ruled = within(p, whole, options);
  ASSERT_TRUE(ruled.ok()) << to_text(ruled.code) << to_text(ruled.ruled.code);
  EXPECT_EQ(tier_of_home(ruled, "head.logits.weight"), 1);
  EXPECT_EQ(tier_of_home(ruled, "embedding.weight"), 0);
  options.rules.push({"no such tensor", hp::offload_control::keep});
  EXPECT_EQ(within(p, whole, options).ruled.code, hp::offload_rule_code::pattern_matches_nothing);
}

TEST(OffloadedPipeline, AnUpdateByItselfIsAPeriodOfEachPart) {
  const hp::sharded_program p = program_of({"1F1B", {2, 1, 4}, "tp", 2});
  const hp::offloaded_program o = within(p, hp::plan_addresses(p).high_water[0] * 4 / 5, {.separate_update = true});
  ASSERT_TRUE(o.ok()) << to_text(o.code);
  EXPECT_EQ(o.period.size, 2 * hp::parts_of(p));
  EXPECT_EQ(hp::check_program(o.program).code, hp::program_code::ok);
  const hp::lowered_program l = hp::lower_training(o, {});
  ASSERT_TRUE(l.status.ok());
  EXPECT_EQ(l.run.size, 2);
}

/// Of its first run, each move taking its time once.
hp::extent_t makespan_of(const hp::lowered_program& l) {
  const hp::program_plan& plan = l.run[0].plan;
  hp::growing_array<hp::extent_t> duration;
  for (int i = 0; i < plan.row.size; ++i)
    duration.push(i > 0 && plan.row[i - 1].step == plan.row[i].step ? 0 : l.duration[plan.row[i].step]);
  hp::extent_t makespan = 0;
  for (const hp::extent_t end : hp::play(plan, duration).end) makespan = hp::larger(makespan, end);
  return makespan;
}

/// Where memory holds everything, the clock of the longest plan is that of the pipeline within 3 %: what a part waits
/// for is in its plan.
TEST(OffloadedPipeline, APartsClockKnowsWhatItWaitsFor) {
  for (const piped_case& c : cases) {
    const hp::sharded_program p = program_of(c);
    const hp::offloaded_program o = within(p, hp::extent_t{1} << 40);
    ASSERT_TRUE(o.ok());
    const hp::extent_t planned = o.planned.certificate.time, makespan = makespan_of(hp::lower_training(o, {}));
    EXPECT_LE(100 * (makespan > planned ? makespan - planned : planned - makespan), 3 * planned) << c.schedule;
  }
  const hp::sharded_program one = hp::partition(programs::piped_graph(2, 2), hp::strategy_called("tp", 2).strategy);
  for (const hp::extent_t wait : hp::waits_for_others(one, hp::step_durations(one, hp::kinds_of_moves(one))))
    EXPECT_EQ(wait, 0);
}

}  // namespace
