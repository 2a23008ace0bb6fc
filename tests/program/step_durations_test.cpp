// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/program/step_durations.hpp>

#include <hyperparallel/program/lower_program.hpp>
#include <hyperparallel/program/planned_flow.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <runtime/small_models.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

TEST(StepDurations, AreThoseOfTheTasks) {
  const hp::graph g = small_models::decoder({.layers = 2});
  for (const char* const name : {"dp", "zero3", "tp-sp"}) {
    hp::sharded_program p = hp::partition(g, hp::strategy_called(name, 4).strategy);
    hp::set_run_types(p, hp::data_type::f32);
    const hp::step_rates rates{.operations_per_nanosecond = 3, .bytes_per_nanosecond = 2, .overhead = 777};
    const hp::program_pulls pulls = hp::pulls_of(p);
    const hp::growing_array<hp::extent_t> duration = hp::step_durations(p, pulls.moves, rates);
    const hp::program_slots slots = hp::slots_of(p, hp::plan_addresses(p));
    hp::program_flow_options how;
    how.rates = rates;
    const hp::program_flow flow(p, pulls, slots, how);
    const hp::planned_flow planned(flow, flow.machine(), {hp::priority::reference_order, 0});
    ASSERT_EQ(duration.size, p.step.size);
    std::vector<hp::extent_t> most(static_cast<std::size_t>(p.step.size), 0);
    for (int t = 0; t < planned.flow().size.tasks; ++t) {
      const hp::task& task = planned.flow().task[t];
      hp::extent_t& longest = most[static_cast<std::size_t>(task.operation)];
      longest = hp::larger(longest, task.duration);
    }
    for (int s = 0; s < p.step.size; ++s) {
      const bool in_two = p.step[s].is_move && pulls.of(p.step[s].index).steps > 1;
      if (in_two)  // its tasks are two, the step is both
        EXPECT_GE(duration[s], most[static_cast<std::size_t>(s)]) << name << " " << s;
      else
        EXPECT_EQ(duration[s], most[static_cast<std::size_t>(s)]) << name << " " << s;
    }
  }
}

constexpr hp::extent_t of_ten_bytes = hp::transfer_duration(10, {.bytes_per_nanosecond = 5});
static_assert(of_ten_bytes == 2000);

}  // namespace
