// SPDX-License-Identifier: Apache-2.0
// The picture's busy times add up to the simulation's; blank means idle and full means busy throughout.

#include <hyperparallel/report/timeline.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <hyperparallel/taskflow/builder.hpp>
#include <hyperparallel/taskflow/list_schedule.hpp>
#include <hyperparallel/taskflow/owned.hpp>

namespace hp = hyperparallel;
namespace report = hyperparallel::report;

namespace {

struct chain {
  int count;
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    for (int rank = 0; rank < 2; ++rank)
      for (int i = 0; i < count; ++i) {
        const int done = hp::add_event(f, rank);
        hp::add_task(f, hp::resource::aic, rank, 1000 + 37 * i, 0, i);
        hp::add_signal(f, done);
        hp::add_task(f, hp::resource::link, rank, 411, 1, i);
        hp::add_wait(f, done);
      }
  }
};

constexpr hp::machine_shape machine{2, {2, 0, 1, 0, 0}};

struct planned {
  hp::owned_taskflow flow;
  hp::owned_schedule schedule;
  hp::owned_timeline line;
  hp::simulation_result result;
  explicit planned(const chain& build)
      : flow(hp::measure(build)),
        schedule(hp::measure(build).tasks, hp::queue_count(machine)),
        line(hp::measure(build).tasks) {
    build(flow);
    hp::seal(flow);
    schedule.machine = machine;
    hp::owned_schedule_scratch x(flow.size, hp::queue_count(machine));
    hp::list_schedule(flow, machine, {}, schedule, x);
    hp::owned_simulation_scratch y(flow.size, hp::queue_count(machine));
    result = hp::simulate(flow, schedule, {}, line, y);
  }
};

TEST(timeline, columns_add_up_to_the_busy_time) {
  const planned p(chain{13});
  for (const hp::resource kind : {hp::resource::aic, hp::resource::link})
    for (const int columns : {1, 2, 7, 72, 1000, 20000}) {
      std::int64_t sum = 0, ranks = 0;
      for (const std::int64_t b : report::detail::busy_columns(p.flow, p.line, p.result.makespan, kind, -1, columns))
        sum += b;
      for (int rank = 0; rank < 2; ++rank)
        for (const std::int64_t b :
             report::detail::busy_columns(p.flow, p.line, p.result.makespan, kind, rank, columns))
          ranks += b;
      EXPECT_EQ(sum, p.result.busy[static_cast<int>(kind)]) << columns;
      EXPECT_EQ(ranks, sum);
    }
}

TEST(timeline, columns_hold_what_lies_in_them) {
  const planned p(chain{6});
  constexpr int columns = 23;
  const std::vector<std::int64_t> busy =
      report::detail::busy_columns(p.flow, p.line, p.result.makespan, hp::resource::aic, -1, columns);
  for (int c = 0; c < columns; ++c) {
    std::int64_t expected = 0;
    const std::int64_t from = report::detail::column_begin(p.result.makespan, columns, c);
    const std::int64_t to = report::detail::column_begin(p.result.makespan, columns, c + 1);
    for (int t = 0; t < p.flow.size.tasks; ++t)
      for (std::int64_t at = from; at < to; ++at)
        expected += p.flow.task[t].kind == hp::resource::aic && p.line.start[t] <= at && at < p.line.end[t];
    EXPECT_EQ(busy[static_cast<std::size_t>(c)], expected) << c;
  }
}

TEST(timeline, blank_is_idle_and_full_is_busy) {
  for (std::int64_t capacity = 1; capacity < 100; ++capacity) {
    int previous = 0;
    for (std::int64_t busy = 0; busy <= capacity; ++busy) {
      const int level = report::detail::darkness(busy, capacity);
      EXPECT_EQ(level == 0, busy == 0);
      EXPECT_EQ(level == report::detail::darkest, busy == capacity);
      EXPECT_GE(level, previous);
      previous = level;
    }
  }
}

TEST(timeline, golden) {
  hp::owned_taskflow flow({3, 0, 0, 0, 0, 0});
  hp::add_task(flow, hp::resource::aic, 0, 5000, 0, 0);
  hp::add_task(flow, hp::resource::aic, 0, 10000, 0, 1);
  hp::add_task(flow, hp::resource::link, 0, 2000, 1, 0);
  const hp::machine_shape one{1, {2, 0, 1, 0, 0}};
  hp::dynamic_schedule schedule;
  schedule.machine = one;
  const std::int64_t start[] = {0, 0, 4000}, end[] = {5000, 10000, 6000};
  struct {
    const std::int64_t *start, *end;
  } const line{start, end};
  EXPECT_EQ(report::timeline_text(flow, schedule, line, 10000, {10, true, -1}),
            "AIC  x2   |#####=====|   75.00 %\n"
            "link x1   |    ##    |   20.00 %\n"
            "           0 10.000 ns\n");
  EXPECT_EQ(report::timeline_text(flow, schedule, line, 10000, {10, false, 0}),
            "AIC  x2   |█████▄▄▄▄▄|   75.00 %\n"
            "link x1   |    ██    |   20.00 %\n"
            "           0 10.000 ns\n");
}

}  // namespace
