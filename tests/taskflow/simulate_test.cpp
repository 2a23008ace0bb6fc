// SPDX-License-Identifier: Apache-2.0
// The simulator against the scheduler's estimate, and unions of busy time against counting picoseconds one by one.

#include <gtest/gtest.h>

#include <iterator>
#include <numeric>

#include "flows.hpp"

namespace {

using namespace taskflow_test;

constexpr moe_tiles tiles{4, 1, 2};
constexpr auto flow = hp::build_fixed<hp::measure(tiles)>(tiles);
constexpr auto plan =
    hp::schedule_fixed<6>(flow, hp::machine_shape{1, {3, 2, 1, 0, 0}}, {hp::priority::upward_rank, 1500});
constexpr auto simulated = hp::simulate_fixed(flow, plan, {1500, false});
static_assert(simulated.result.makespan == plan.makespan);
static_assert(simulated.communication.exposed <= simulated.communication.busy);
static_assert(hp::simulate_fixed(flow, plan, {1500, true}).result.makespan <= plan.makespan);

TEST(Simulate, IsTheSchedulersEstimate) {
  std::mt19937 random(21);
  for (int i = 0; i < 3000; ++i) {
    const loose_plan p = random_plan(random, 1 + below(random, 40));
    const hp::taskflow_size n = hp::measure(p);
    const int queues = hp::queue_count(p.machine);
    hp::owned_taskflow f(n);
    p(f);
    hp::seal(f);
    hp::owned_schedule s(n.tasks, queues);
    hp::owned_schedule_scratch x(n, queues);
    const std::int64_t hop = below(random, 3);
    ASSERT_EQ(hp::list_schedule(f, p.machine, {hp::priority::upward_rank, hop}, s, x), hp::schedule_status{});
    hp::owned_timeline line(n.tasks);
    hp::owned_simulation_scratch y(n, queues);
    const hp::simulation_result r = hp::simulate(f, s, {hop, false}, line, y);
    ASSERT_EQ(r.code, hp::simulation_code::ok);
    ASSERT_EQ(r.makespan, s.makespan);

    // Unions, picosecond by picosecond.
    for (const hp::resource covered : {hp::resource::link, hp::resource::aiv, hp::resource::copy_in}) {
      const auto busy = [&](hp::resource kind, std::int64_t now) {
        bool any = false;
        for (int t = 0; t < n.tasks; ++t)
          any = any || (f.task[t].kind == kind && line.start[t] <= now && now < line.end[t]);
        return any;
      };
      hp::exposure slow;
      for (std::int64_t now = 0; now < r.makespan; ++now) {
        const bool shown = busy(covered, now);
        slow.busy += shown;
        slow.exposed += shown && !busy(hp::resource::aic, now);
      }
      ASSERT_EQ(hp::measure_exposure(s, line, 0, covered, hp::resource::aic, y), slow);
    }
    std::int64_t work = 0;
    for (int t = 0; t < n.tasks; ++t) work += f.task[t].duration;
    ASSERT_EQ(std::accumulate(std::begin(r.busy), std::end(r.busy), std::int64_t{0}), work);
  }
}

TEST(Simulate, SameAtCompileTimeAndRunTime) {
  hp::owned_taskflow f(hp::measure(tiles));
  tiles(f);
  hp::seal(f);
  hp::owned_schedule s(f.size.tasks, 6);
  hp::owned_schedule_scratch x(f.size, 6);
  hp::list_schedule(f, plan.machine, {hp::priority::upward_rank, 1500}, s, x);
  hp::owned_timeline line(f.size.tasks);
  hp::owned_simulation_scratch y(f.size, 6);
  EXPECT_EQ(hp::simulate(f, s, {1500, false}, line, y), simulated.result);
  for (int t = 0; t < f.size.tasks; ++t) {
    EXPECT_EQ(line.start[t], simulated.line.start[t]);
    EXPECT_EQ(line.end[t], simulated.line.end[t]);
  }
  EXPECT_EQ(hp::measure_exposure(s, line, 0, hp::resource::link, hp::resource::aic, y), simulated.communication);
}

TEST(Simulate, CountsByHand) {
  // link [0, 10); AIC waits one hop of 2 and runs [12, 32) beside a second transfer [10, 25): exposed 12 of 25.
  loose_plan p;
  p.machine = {1, {1, 0, 1, 0, 0}};
  p.events = 1;
  p.task = {{hp::resource::link, 0, 10, {}, {0}, {}},
            {hp::resource::link, 0, 15, {}, {}, {}},
            {hp::resource::aic, 0, 20, {{0, 1}}, {}, {}}};
  p.queue = {{2}, {0, 1}};
  realised r(p);
  ASSERT_TRUE(r.complete);
  hp::owned_timeline line(3);
  hp::owned_simulation_scratch y(r.flow.size, 2);
  const hp::simulation_result result = hp::simulate(r.flow, r.schedule, {2, false}, line, y);
  EXPECT_EQ(result.makespan, 32);
  EXPECT_EQ(hp::utilisation(result, p.machine, hp::resource::aic), 6250);
  const hp::exposure e = hp::measure_exposure(r.schedule, line, 0, hp::resource::link, hp::resource::aic, y);
  EXPECT_EQ(e, (hp::exposure{25, 12}));
  EXPECT_EQ(e.masked_share(), 5200);
  EXPECT_EQ(e.exposed_share(result.makespan), 3750);
  EXPECT_EQ(hp::simulate(r.flow, r.schedule, {2, true}, line, y).makespan, 22);
}

TEST(Simulate, NamesADeadlock) {
  loose_plan p;
  p.machine = {1, {1, 1, 0, 0, 0}};
  p.events = 1;
  p.task = {{hp::resource::aic, 0, 1, {}, {0}, {}}, {hp::resource::aiv, 0, 1, {{0, 2}}, {}, {}}};
  p.queue = {{0}, {1}};
  realised r(p);
  EXPECT_FALSE(r.complete);
  r.schedule.order[0] = 0;
  r.schedule.order[1] = 1;
  hp::owned_timeline line(2);
  hp::owned_simulation_scratch y(r.flow.size, 2);
  const hp::simulation_result result = hp::simulate(r.flow, r.schedule, {}, line, y);
  EXPECT_EQ(result.code, hp::simulation_code::deadlock);
  EXPECT_EQ(result.makespan, hp::not_counted);
  EXPECT_EQ(result.task, 1);
  EXPECT_EQ(result.event, 0);
}

}  // namespace
