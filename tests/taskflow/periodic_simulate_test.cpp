// SPDX-License-Identifier: Apache-2.0
// The makespan by repetition against the simulation of all copies written out.

#include <gtest/gtest.h>

#include <hyperparallel/taskflow/periodic_simulate.hpp>

#include "periods.hpp"

namespace {

using namespace taskflow_test;

hp::simulation_result explicit_result(const planned_period& p, int copies, hp::simulation_options options) {
  const hp::periodic_expansion e(p.period, p.schedule, copies);
  hp::owned_timeline line(e.flow.size.tasks);
  hp::owned_simulation_scratch x(e.flow.size, small_queues);
  return hp::simulate(e.flow, e.schedule, options, line, x);
}

TEST(PeriodicSimulate, EqualsTheExplicitOne) {
  std::mt19937 random(3);
  int repeated = 0, staged = 0;
  const int cases = random_cases(20000);
  for (int i = 0; i < cases; ++i) {
    const std::int64_t synchronisation = below(random, 3);
    const planned_period p(random_period(random, 1 + below(random, 9), 20), synchronisation,
                           static_cast<hp::priority>(below(random, 2)));
    ASSERT_EQ(p.status, hp::schedule_status{});
    const hp::simulation_options options{synchronisation, below(random, 5) == 0};
    hp::owned_periodic_scratch x(p.period.size, small_queues);
    for (int copies : {0, 1, 2, 3, 4, 5, 7, 8, 13, 31, 64}) {
      const hp::periodic_simulation s = hp::simulate_period(p.period, p.schedule, copies, options, x);
      ASSERT_EQ(s.total, explicit_result(p, copies, options)) << "case " << i << ", " << copies << " copies";
      ASSERT_LE(s.simulated, copies);
      if (copies == 64) repeated += s.every > 0 && s.simulated < 32 ? 1 : 0;
    }
    staged += p.schedule.stages > 1 ? 1 : 0;
  }
  EXPECT_GT(repeated, cases / 2);
  EXPECT_GT(staged, cases / 20);
}

TEST(PeriodicSimulate, ABillionCopiesCostAFew) {
  const planned_period p(prefetched_layer{});
  const hp::periodic_simulation few = p.simulated(1000), many = p.simulated(1000000000);
  ASSERT_GT(few.every, 0);
  EXPECT_LE(many.simulated, 16);
  EXPECT_EQ(many.total.makespan - few.total.makespan, (1000000000 - 1000) / few.every * few.gain);
  EXPECT_EQ(many.total.busy[0], 1000000000LL * 200);
}

constexpr auto layer = hp::build_period<hp::measure(prefetched_layer{})>(prefetched_layer{});
constexpr auto schedule = hp::schedule_period<layer, small_queues>(small_machine);
constexpr hp::periodic_simulation at_compile_time = hp::simulate_period(layer, schedule, 61);

TEST(PeriodicSimulate, IsTheSameAtCompileTime) {
  EXPECT_EQ(planned_period(prefetched_layer{}).simulated(61), at_compile_time);
}

}  // namespace
