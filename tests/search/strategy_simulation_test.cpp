// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/search/strategy_simulation.hpp>

#include <gtest/gtest.h>

#include <string>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/report/format_search.hpp>
#include <hyperparallel/search/strategy_search.hpp>

#include "search_models.hpp"

namespace {

namespace hp = hyperparallel;
using hp::matrix384;

constexpr auto always = [] { return true; };

/// Two graphs of one step, with and without recomputation.
constexpr hp::graph graph_of(int number, bool unrolled) {
  return searched::small_model{.unrolled = unrolled, .recomputed = number == 1}.build();
}
constexpr auto unrolled_graph = [](int number) { return graph_of(number, true); };

hp::search_result search(hp::extent_t memory = hp::GiB, int stages = 1) {
  const hp::graph graphs[] = {graph_of(0, false), graph_of(1, false)};
  const hp::search_limits few{.reduced = true, .tensor = 2, .context = 1, .pipeline = stages};
  return hp::search_strategies(graphs, 2, matrix384::device, matrix384::topology, 4, few, memory,
                               [](const hp::search_progress&) {});
}

TEST(StrategySimulation, PutsTheFastestByItsClockFirst) {
  hp::search_result r = search();
  ASSERT_GE(r.plan.size, 3);
  const int plans = r.plan.size;
  hp::simulate_best(r, unrolled_graph, matrix384::device, matrix384::topology, always);
  EXPECT_EQ(r.plan.size, plans);
  ASSERT_TRUE(r.plan[0].simulated.is_clocked());
  EXPECT_LE(r.certificate.lower_bound, r.plan[0].time());
  int clocked = 0;
  for (const hp::found_plan& p : r.plan) {
    EXPECT_LE(r.plan[0].time(), p.time());
    if (!p.simulated.ok()) {
      EXPECT_EQ(p.time(), p.evaluation.time);
      continue;
    }
    ++clocked;
    const hp::simulated_plan again =
        hp::simulate_unrolled(hp::partition(graph_of(p.graph, true), p.strategy),
                              hp::interconnect_of(matrix384::topology), matrix384::device, hp::GiB);
    EXPECT_EQ(p.simulated, again);
    EXPECT_EQ(p.time(), again.times.makespan);
  }
  EXPECT_EQ(r.certificate.simulations, (hp::simulation_counts{clocked, 0, 0}));
  const std::string text = hp::to_text(r);
  EXPECT_NE(text.find("clock"), std::string::npos);
  EXPECT_NE(text.find(std::to_string(clocked) + " of the best simulated"), std::string::npos) << text;
}

TEST(StrategySimulation, EndsWhereItIsToldTo) {
  hp::search_result r = search();
  const hp::search_result before = r;
  hp::simulate_best(r, unrolled_graph, matrix384::device, matrix384::topology, [] { return false; });
  EXPECT_EQ(r, before);
}

// With just the bytes that are alive the addresses of a plan may have no room: then it is none.
TEST(StrategySimulation, PlansThatDoNotFitByAddressAreNone) {
  int unfit = 0;
  for (const hp::found_plan& of : search().plan) {
    const hp::extent_t memory = of.evaluation.memory;
    hp::search_result r = search(memory);
    ASSERT_TRUE(r.ok());
    hp::simulate_best(r, unrolled_graph, matrix384::device, matrix384::topology, always);
    unfit += static_cast<int>(r.certificate.simulations.unfit);
    for (const hp::found_plan& p : r.plan)
      if (p.simulated.ok()) {
        EXPECT_LE(p.simulated.bytes, memory);
      }
  }
  EXPECT_GT(unfit, 0);
  hp::search_result none = search();
  none.plan.size = 0;
  none.certificate.simulations = {2, 2, 0};
  EXPECT_EQ(hp::to_text(none).find("none of the 2 best plans fits: what is alive does, their addresses take more than"),
            0U);
}

TEST(StrategySimulation, APipelineKeepsItsEstimateAndSaysWhy) {
  hp::search_result r = search(hp::GiB, 2);
  hp::found_plan* pipeline = nullptr;
  for (hp::found_plan& p : r.plan)
    if (p.frame.pipeline > 1 && pipeline == nullptr) pipeline = &p;
  ASSERT_NE(pipeline, nullptr);
  hp::search_result alone = r;
  alone.plan.size = 0;
  alone.plan.push(*pipeline);
  hp::simulate_best(alone, unrolled_graph, matrix384::device, matrix384::topology, always);
  EXPECT_EQ(alone.plan[0].simulated.code, hp::simulated_plan_code::is_a_pipeline);
  EXPECT_EQ(alone.plan[0].time(), alone.plan[0].evaluation.time);
  EXPECT_EQ(alone.certificate.simulations.made, 0);
}

// The same at compile time.
constexpr hp::search_result constant() {
  constexpr hp::search_limits few{.reduced = true, .tensor = 1, .context = 1, .pipeline = 1, .named = false};
  const hp::graph g = graph_of(0, false);
  hp::search_result r = hp::search_strategies(&g, 1, matrix384::device, matrix384::topology, 2, few);
  hp::simulate_best(r, unrolled_graph, matrix384::device, matrix384::topology, always);
  return r;
}
static_assert(constant().plan[0].simulated.is_clocked());

}  // namespace
