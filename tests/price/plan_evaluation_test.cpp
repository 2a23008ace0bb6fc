// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/plan_evaluation.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/price/step_account.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

#include "lowering/refused_hardware.hpp"
#include "search/search_models.hpp"

namespace {

namespace hp = hyperparallel;

// Without a pipeline the evaluation is the account of the program.
TEST(PlanEvaluation, IsTheAccountOfTheProgram) {
  std::mt19937 random(3);
  for (int i = 0; i < 25; ++i) {
    const hp::graph g = searched::random_model(random, i % 2 == 0).build();
    const hp::device_value device = searched::random_device(random);
    const hp::topology_value topology = searched::random_topology(random);
    hp::plan_prices prices(device, topology);
    for (const char* name : {"dp", "zero1", "zero3", "tp", "tp-sp", "2d", "dp-tp", "ulysses"}) {
      const hp::strategy_value s = hp::strategy_called(name, 4).strategy;
      const hp::sharded_program p = hp::partition(g, s);
      const hp::plan_evaluation e = hp::evaluate_plan(g, s, 1, prices);
      EXPECT_EQ(e.status.code, p.status.code);
      if (!e.ok()) continue;
      const hp::step_account a = hp::account_of(p, device, hp::on_topology(topology));
      EXPECT_EQ(e.times, a.times) << name;
      EXPECT_EQ(e.time, a.times.total.picoseconds) << name;
      EXPECT_EQ(e.account, a.memory) << name;
      EXPECT_EQ(e.memory, a.memory.peak) << name;
      const hp::busy_times busy = hp::detail::busy_of(p, hp::pipeline_form(g, 1), hp::priced_program(p, prices));
      EXPECT_LE(busy.compute, e.times.compute_busy) << name;
      EXPECT_LE(busy.carried, e.times.communication_busy) << name;
      EXPECT_LE(busy.bound(), e.time) << name;
      hp::extent_t kept = 0;
      hp::visit_kept_memory(p, hp::pipeline_form(g, 1), [&](int, int, hp::extent_t bytes) { kept += bytes; });
      EXPECT_LE(kept, e.memory) << name;
      hp::extent_t homes = 0;
      for (const hp::extent_t bytes : e.account.resident) homes += bytes;
      EXPECT_GE(kept, homes - 64) << name;
    }
  }
}

// Queues are busy as the closed form of a pipeline says; what waits for what the clock plays.
TEST(PlanEvaluation, PipelineKeepsQueuesBusyAsItsClosedFormSays) {
  const hp::graph g = searched::small_model{.layers = 8, .micro_batches = 4}.build();
  hp::plan_prices prices(hp::generic_host::device, hp::generic_host::topology);
  const hp::strategy_value s = hp::strategy_called("dp", 2).strategy;
  const hp::plan_evaluation one = hp::evaluate_plan(g, s, 1, prices);
  const hp::sharded_program p = hp::partition(g, s);
  const hp::priced_program priced(p, prices);
  for (const int degree : {2, 4, 8}) {
    const hp::plan_evaluation e = hp::evaluate_plan(g, s, degree, prices);
    ASSERT_TRUE(e.ok());
    EXPECT_EQ(e.time, e.times.total.picoseconds + e.hops + e.waited);
    EXPECT_GT(e.waited, 0);
    EXPECT_GE(e.times.total.picoseconds, hp::larger(e.times.compute_busy, e.times.communication_busy));
    EXPECT_LE(e.times.total.picoseconds, e.times.compute_busy + e.times.communication_busy);
    // Layers divide, so every share is 1 / degree, rounded up at each execution of a step, and phases of micro-batches
    // take (m + p - 1) / m as long.
    const hp::pipeline_form form(g, degree);
    double compute = 0, carried = 0;
    hp::extent_t executions = 0;
    for (int i = 0; i < p.step.size; ++i) {
      const double bubble = p.step[i].phase <= hp::graph_phase::accumulate ? (4.0 + degree - 1) / 4.0 : 1.0;
      const double once = static_cast<double>(priced.of_step(i) * hp::times_of(p, p.step[i])) * bubble / degree;
      (p.step[i].is_move ? carried : compute) += once;
      executions += hp::times_of(p, p.step[i]) * form.rounds(hp::graph_phase::forward);
    }
    EXPECT_GE(static_cast<double>(e.times.compute_busy), compute - 1.0);
    EXPECT_LE(static_cast<double>(e.times.compute_busy), compute + static_cast<double>(executions));
    EXPECT_LE(static_cast<double>(e.times.communication_busy), carried + static_cast<double>(executions));
    EXPECT_GT(e.hops, 0);
    EXPECT_LT(e.memory, one.memory);
    EXPECT_EQ(e.account, one.account);
  }
  EXPECT_FALSE(hp::evaluate_plan(g, s, 9, prices).ok());
}

// What a stage hands over goes along each axis on which the first ranks of two stages differ.
TEST(PlanEvaluation, StagesHandOverOnAFullMesh) {
  const hp::graph g = searched::small_model{}.build();
  const hp::strategy_value s = hp::strategy_called("dp", 4).strategy;
  const hp::device_value& d = hp::matrix384::device;
  hp::plan_prices rows(d, refused::square(2, 4)), columns(d, refused::square(4, 2));
  const hp::plan_evaluation of_rows = hp::evaluate_plan(g, s, 2, rows),
                            of_columns = hp::evaluate_plan(g, s, 2, columns);
  ASSERT_TRUE(of_rows.ok());
  ASSERT_TRUE(of_columns.ok());
  EXPECT_GT(of_rows.hops, 0);
  EXPECT_EQ(of_rows.hops, of_columns.hops) << "one axis, the outer, in both";
  hp::plan_prices few(d, refused::square(2, 2));
  EXPECT_EQ(hp::evaluate_plan(g, s, 2, few).code, hp::cost_code::ranks_are_not_connected);
}

TEST(PlanEvaluation, NothingIsPricedOnHardwareThatCannotBe) {
  const hp::graph g = searched::small_model{}.build();
  const hp::strategy_value s = hp::strategy_called("dp", 8).strategy;
  for (const refused::hardware& h : refused::each()) {
    hp::plan_prices prices(h.device, h.topology);
    const hp::plan_evaluation e = hp::evaluate_plan(g, s, 1, prices);
    EXPECT_EQ(e.status.code, hp::strategy_code::ok) << h.what;
    EXPECT_FALSE(e.ok()) << h.what;
    EXPECT_EQ(e.time, hp::not_counted) << h.what;
  }
  // A pipeline's devices are those of all stages.
  const hp::topology_value octets = refused::two_levels(2, 8);
  hp::plan_prices prices(hp::matrix384::device, octets);
  const hp::strategy_value half = hp::strategy_called("dp", 4).strategy;
  EXPECT_TRUE(hp::evaluate_plan(g, half, 2, prices).ok());
  EXPECT_EQ(hp::evaluate_plan(g, s, 2, prices).code, hp::cost_code::ranks_are_not_connected);
}

}  // namespace
