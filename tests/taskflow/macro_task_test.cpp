// SPDX-License-Identifier: Apache-2.0
// 50 100 tasks as 167 instances of a layer of 300, proved while it compiles; what an instance adds to a flow.

#include <hyperparallel/taskflow/macro_task.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/taskflow/simulate.hpp>
#include <hyperparallel/taskflow/unroll_macro_tasks.hpp>

#include "macro_layers.hpp"

namespace {

using namespace taskflow_test;

static_assert(layer_size.tasks == 300 && proved_layer.status == hp::macro_status{});

constexpr int layers = 167;
inline constexpr auto flow = hp::build_fixed<hp::measure(layer_stack<layers>{})>(layer_stack<layers>{});
inline constexpr layer_table<layers> instances{flow.size.events};
inline constexpr auto schedule =
    hp::schedule_macro_tasks<layer_queues>(flow, layer_machine, instances.table(), proved_layer.contract);
static_assert(layers * layer_size.tasks > 50000 && flow.size.tasks == layers * 2 * layer_queues);
static_assert(hp::prove_macro_tasks(flow, schedule, layer_tiers, instances.table(), proved_layer.contract) ==
              hp::macro_status{});

/// Two layers that do not wait for each other.
constexpr hp::macro_status without_waits() {
  constexpr layer_stack<2, false> stack;
  constexpr hp::taskflow_size size = hp::measure(stack);
  const auto f = hp::build_fixed<size>(stack);
  const layer_table<2> two(f.size.events);
  const auto s = hp::schedule_macro_tasks<layer_queues>(f, layer_machine, two.table(), proved_layer.contract);
  return hp::prove_macro_tasks(f, s, layer_tiers, two.table(), proved_layer.contract);
}
static_assert(without_waits().code == hp::macro_code::flow_is_unsafe &&
              without_waits().safety == hp::verify_code::conflict_is_not_ordered);

TEST(MacroTask, TheUnrolledStackIsSafeAndAsLongAsTheOuterFlow) {
  constexpr layer_stack<12> stack;
  constexpr hp::taskflow_size size = hp::measure(stack);
  const auto outer = hp::build_fixed<size>(stack);
  const layer_table<12> table(size.events);
  const auto queues =
      hp::schedule_macro_tasks<layer_queues>(outer, layer_machine, table.table(), proved_layer.contract);
  const hp::macro_chain chain{layer_flow, layer_schedule, layer_place.of, proved_layer.contract};
  const auto build = hp::unroll_macro_tasks(outer, table.table(), chain);
  const hp::taskflow_size n = hp::measure(build);
  EXPECT_EQ(n.tasks, 12 * layer_size.tasks + size.tasks);
  hp::owned_taskflow f(n);
  build(f);
  hp::seal(f);
  hp::owned_schedule s(n.tasks, layer_queues);
  hp::detail::owned_exact_scratch x(n, layer_queues);
  ASSERT_TRUE(hp::unroll_schedule(f, outer, queues, table.table(), s, x, chain));
  hp::detail::owned_clock_scratch clocks(n, layer_queues);
  EXPECT_EQ(hp::check_by_clocks(f, s, clocks), (hp::clock_status{}));
  hp::owned_timeline line(n.tasks);
  hp::owned_simulation_scratch y(n, layer_queues);
  EXPECT_EQ(hp::simulate_fixed(outer, queues).result.makespan, hp::simulate(f, s, {}, line, y).makespan)
      << "each layer waits for the whole one before";
}

TEST(MacroTask, TheSizingPassCountsWhatIsWritten) {
  constexpr layer_stack<5> stack;
  const hp::taskflow_size n = hp::measure(stack);
  hp::owned_taskflow f(n);
  stack(f);
  EXPECT_EQ(f.size, n);
  EXPECT_EQ(n.tasks, 5 * 2 * layer_queues);
  EXPECT_EQ(n.access_uses, 2 * n.accesses) << "tails share the accesses of heads";
}

}  // namespace
