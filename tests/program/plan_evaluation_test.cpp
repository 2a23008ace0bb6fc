// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/program/plan_evaluation.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/model/named_strategies.hpp>

#include "refused_hardware.hpp"
#include "search_models.hpp"

namespace {

namespace hp = hyperparallel;

hp::extent_t sum_of(const hp::plan_evaluation& e) {
  hp::extent_t sum = e.hops;
  for (int i = 0; i < hp::graph_phase_count; ++i) sum += e.compute[i] + e.moves[i];
  return sum;
}

TEST(PlanEvaluation, SumsAreTold) {
  std::mt19937 random(3);
  for (int i = 0; i < 25; ++i) {
    const hp::graph g = searched::random_model(random, i % 2 == 0).build();
    hp::plan_prices prices(searched::random_device(random), searched::random_topology(random));
    for (const char* name : {"dp", "zero1", "zero3", "tp", "tp-sp", "2d", "dp-tp", "ulysses"}) {
      const hp::strategy_value s = hp::strategy_called(name, 4).strategy;
      const hp::sharded_program p = hp::partition(g, s);
      const hp::plan_evaluation e = hp::evaluate_plan(g, s, 1, prices);
      EXPECT_EQ(e.status.code, p.status.code);
      if (!e.ok()) continue;
      EXPECT_EQ(e.time, sum_of(e));
      EXPECT_EQ(e.memory, hp::memory_account_of(p).peak);
      hp::extent_t kept = 0;
      hp::visit_kept_memory(p, hp::pipeline_form(g, 1), [&](int, int, hp::extent_t bytes) { kept += bytes; });
      EXPECT_LE(kept, e.memory) << name;
      hp::extent_t homes = 0;
      for (const hp::extent_t bytes : e.account.resident) homes += bytes;
      EXPECT_GE(kept, homes - 64) << name;
    }
  }
}

TEST(PlanEvaluation, PipelineInClosedForm) {
  const hp::graph g = searched::small_model{.layers = 8, .micro_batches = 4}.build();
  hp::plan_prices prices(hp::generic_host::device, hp::generic_host::topology);
  const hp::strategy_value s = hp::strategy_called("dp", 2).strategy;
  const hp::plan_evaluation one = hp::evaluate_plan(g, s, 1, prices);
  for (const int degree : {2, 4, 8}) {
    const hp::plan_evaluation e = hp::evaluate_plan(g, s, degree, prices);
    ASSERT_TRUE(e.ok());
    EXPECT_EQ(e.time, sum_of(e));
    // Layers divide, so every share is 1 / degree, and phases of micro-batches take (m + p - 1) / m as long.
    const double bubble = (4.0 + degree - 1) / 4.0;
    for (int phase = 0; phase < hp::graph_phase_count; ++phase) {
      const double factor = phase <= static_cast<int>(hp::graph_phase::accumulate) ? bubble : 1.0;
      EXPECT_NEAR(static_cast<double>(e.compute[phase]), static_cast<double>(one.compute[phase]) * factor / degree,
                  400.0);
      EXPECT_NEAR(static_cast<double>(e.moves[phase]), static_cast<double>(one.moves[phase]) * factor / degree, 400.0);
    }
    EXPECT_GT(e.hops, 0);
    EXPECT_LT(e.memory, one.memory);
    EXPECT_EQ(e.account, one.account);
  }
  EXPECT_FALSE(hp::evaluate_plan(g, s, 9, prices).ok());
}

TEST(PlanEvaluation, ShareRoundsDownWithoutOverflow) {
  const hp::stage_share third{1, 3};
  EXPECT_EQ(third.of(10), 3);
  const hp::stage_share large{61 * 1000, 61 * 1000 * 7};
  EXPECT_EQ(large.of(hp::extent_t{7} * 1'000'000'000'000'000), 1'000'000'000'000'000);
}

TEST(PlanEvaluation, NumbersThatJoinPartsAreLeftOut) {
  const hp::graph g = searched::small_model{}.build();
  const hp::sharded_program p = hp::partition(g, hp::strategy_called("zero1", 4).strategy);
  int joined = 0;
  for (const hp::program_step& s : p.step) {
    if (!hp::joins_numbers(p, s)) continue;
    ++joined;
    EXPECT_EQ(s.phase, hp::graph_phase::norm);
    EXPECT_LT(s.segment, 0);
  }
  EXPECT_GT(joined, 0);
}

TEST(PlanEvaluation, NothingIsPricedOnHardwareThatCannotBe) {
  const hp::graph g = searched::small_model{}.build();
  const hp::strategy_value s = hp::strategy_called("dp", 8).strategy;
  for (const refused::hardware& h : refused::each()) {
    hp::plan_prices prices(h.device, h.topology);
    const hp::plan_evaluation e = hp::evaluate_plan(g, s, 1, prices);
    EXPECT_EQ(e.status.code, hp::strategy_code::ok) << h.what;
    EXPECT_FALSE(e.ok()) << h.what;
    EXPECT_EQ(e.time, 0) << h.what;
  }
  // A pipeline's devices are those of all stages.
  const hp::topology_value octets = refused::two_levels(2, 8);
  hp::plan_prices prices(hp::matrix384::device, octets);
  const hp::strategy_value half = hp::strategy_called("dp", 4).strategy;
  EXPECT_TRUE(hp::evaluate_plan(g, half, 2, prices).ok());
  EXPECT_EQ(hp::evaluate_plan(g, s, 2, prices).code, hp::cost_code::ranks_are_not_connected);
}

}  // namespace
