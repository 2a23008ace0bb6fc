// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/program/step_clock.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/program/plan_prices.hpp>
#include <hyperparallel/program/step_timing.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

#include "search_models.hpp"

namespace {

namespace hp = hyperparallel;

template <class Run>
void for_each_program(std::mt19937& random, int models, const Run& run) {
  for (int i = 0; i < models; ++i) {
    searched::small_model model = searched::random_model(random, i % 2 == 0);
    model.micro_batches = 1 + i % 4;
    const hp::graph g = model.build();
    const hp::device_value device = searched::random_device(random);
    const hp::topology_value topology = searched::random_topology(random);
    for (int n = 0; n < hp::named_strategy_count; ++n) {
      const hp::strategy_value s = hp::strategy_called(hp::named_strategy_at(n).name, 4).strategy;
      const hp::sharded_program p = hp::partition(g, s);
      if (p.status.code == hp::strategy_code::ok) run(p, device, topology, s.name.text);
    }
  }
}

// One clock: prices that are looked up give the times of prices that are made from kinds and loads.
TEST(StepClock, IsTheSameForSearchAndAccounts) {
  std::mt19937 random(5);
  int compared = 0;
  for_each_program(
      random, 12,
      [&](const hp::sharded_program& p, const hp::device_value& d, const hp::topology_value& t, const char* name) {
        hp::plan_prices prices(d, t);
        const hp::priced_program priced(p, prices);
        const hp::interconnect net = hp::on_topology(t);
        const hp::program_moves kinds = hp::kinds_of_moves(p, net);
        EXPECT_EQ(hp::detail::two_queues(p, priced, hp::pipeline_form(p.graph, 1), net).run(),
                  hp::time_step(p, kinds, hp::loads_of_moves(p, kinds), d, net))
            << name;
        ++compared;
      });
  EXPECT_GT(compared, 100);
}

// Something is always running, so a step takes at least either queue's busy time and at most both.
TEST(StepClock, RunsBetweenTheLongerQueueAndBoth) {
  std::mt19937 random(6);
  int overlapping = 0, compared = 0;
  for_each_program(
      random, 12,
      [&](const hp::sharded_program& p, const hp::device_value& d, const hp::topology_value& t, const char* name) {
        hp::plan_prices prices(d, t);
        const hp::priced_program priced(p, prices);
        for (const int stages : {1, 2}) {
          const hp::pipeline_form form(p.graph, stages);
          if (!form.fits()) continue;
          const hp::step_times times = hp::detail::two_queues(p, priced, form, prices.links()).run();
          ASSERT_TRUE(times.total.ok()) << name;
          EXPECT_GE(times.total.picoseconds, times.compute_busy) << name;
          EXPECT_GE(times.total.picoseconds, times.communication_busy) << name;
          EXPECT_LE(times.total.picoseconds, times.compute_busy + times.communication_busy) << name;
          EXPECT_EQ(times.exposed, times.total.picoseconds - times.compute_busy) << name;
          EXPECT_EQ(times.by_unit[0] + times.by_unit[1], times.compute_busy) << name;
          overlapping += times.exposed < times.communication_busy ? 1 : 0;
          ++compared;
        }
      });
  EXPECT_GT(compared, 150);
  EXPECT_GT(overlapping, 50);
}

}  // namespace
