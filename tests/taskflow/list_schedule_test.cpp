// SPDX-License-Identifier: Apache-2.0
// Laws of the list schedule and its bounds, and the same plan at compile time and at run time.

#include <gtest/gtest.h>

#include <algorithm>

#include "flows.hpp"

namespace {

using namespace taskflow_test;

constexpr moe_tiles tiles{5, 1, 2};
constexpr hp::machine_shape machine{1, {3, 2, 1, 0, 0}};
constexpr hp::schedule_options options{hp::priority::upward_rank, 2000};
constexpr auto flow = hp::build_fixed<hp::measure(tiles)>(tiles);
constexpr auto plan = hp::schedule_fixed<6>(flow, machine, options);
constexpr hp::makespan_bound bound_of_plan() {
  hp::detail::fixed_schedule_scratch<hp::measure(tiles), 6> x;
  return hp::bound_makespan(flow, machine, 2000, x);
}
constexpr hp::makespan_bound bound = bound_of_plan();
static_assert(plan.task_count == 50 && bound.value > 0 && bound.value <= plan.makespan);
static_assert(hp::makespan_certificate{30, 20}.ratio() == 15000 && hp::makespan_certificate{0, 0}.ratio() == 10000);

TEST(ListSchedule, SameAtCompileTimeAndRunTime) {
  hp::owned_taskflow f(hp::measure(tiles));
  tiles(f);
  hp::seal(f);
  ASSERT_EQ(f.size, flow.size);
  hp::owned_schedule s(f.size.tasks, 6);
  hp::owned_schedule_scratch x(f.size, 6);
  ASSERT_EQ(hp::list_schedule(f, machine, options, s, x), hp::schedule_status{});
  EXPECT_EQ(s.machine, plan.machine);
  EXPECT_EQ(s.makespan, plan.makespan);
  EXPECT_EQ(s.task_count, plan.task_count);
  for (int t = 0; t < s.task_count; ++t) {
    EXPECT_EQ(s.order[t], plan.order[t]);
    EXPECT_EQ(s.queue[t], plan.queue[t]);
    EXPECT_EQ(s.queue_task[t], plan.queue_task[t]);
  }
  for (int q = 0; q <= 6; ++q) EXPECT_EQ(s.queue_begin[q], plan.queue_begin[q]);
  EXPECT_EQ(hp::bound_makespan(f, machine, 2000, x), bound);
}

/// Everything that a schedule promises, checked the slow way.
void expect_laws(const loose_plan& p, hp::schedule_options how) {
  const hp::taskflow_size n = hp::measure(p);
  const int queues = hp::queue_count(p.machine);
  hp::owned_taskflow f(n);
  p(f);
  hp::seal(f);
  hp::owned_schedule s(n.tasks, queues);
  hp::owned_schedule_scratch x(n, queues);
  ASSERT_EQ(hp::list_schedule(f, p.machine, how, s, x), hp::schedule_status{});
  std::vector<int> place(static_cast<std::size_t>(n.tasks), -1);
  for (int i = 0; i < n.tasks; ++i) {
    ASSERT_EQ(place[static_cast<std::size_t>(s.order[i])], -1);
    place[static_cast<std::size_t>(s.order[i])] = i;
  }
  for (int q = 0; q < queues; ++q)
    for (int i = s.queue_begin[q]; i < s.queue_begin[q + 1]; ++i) {
      ASSERT_EQ(s.queue[s.queue_task[i]], q);
      if (i > s.queue_begin[q]) {
        ASSERT_LT(place[static_cast<std::size_t>(s.queue_task[i - 1])],
                  place[static_cast<std::size_t>(s.queue_task[i])]);
      }
    }
  // In `order`: each task goes to the first of its pool's queues to become free, and starts at max(queue free, needed
  // signals + synchronisation); the needed ones are the first `threshold` to end.
  std::int64_t makespan = 0;
  std::vector<std::int64_t> end(static_cast<std::size_t>(n.tasks), -1), free(static_cast<std::size_t>(queues));
  for (int i = 0; i < n.tasks; ++i) {
    const int t = s.order[i], pool = hp::detail::first_queue(p.machine, f.task[t].rank, f.task[t].kind);
    const auto first = free.begin() + pool, last = first + p.machine.queues[static_cast<int>(f.task[t].kind)];
    const auto earliest = std::min_element(first, last);
    ASSERT_EQ(s.queue[t], static_cast<int>(earliest - free.begin())) << "task " << t;
    std::int64_t start = *earliest;
    for (int w = f.task[t].wait_begin; w < f.task[t].wait_end; ++w) {
      std::vector<std::int64_t> ends;
      for (int u = 0; u < n.tasks; ++u)
        for (int g = f.task[u].signal_begin; g < f.task[u].signal_end; ++g)
          if (f.signal[g] == f.wait[w].event && end[static_cast<std::size_t>(u)] >= 0)
            ends.push_back(end[static_cast<std::size_t>(u)]);
      ASSERT_GE(static_cast<int>(ends.size()), f.wait[w].threshold) << "task " << t << " stands before its signals";
      std::sort(ends.begin(), ends.end());
      start = std::max(start, ends[static_cast<std::size_t>(f.wait[w].threshold - 1)] + how.synchronisation);
    }
    end[static_cast<std::size_t>(t)] = *earliest = start + f.task[t].duration;
    makespan = std::max(makespan, *earliest);
  }
  EXPECT_EQ(makespan, s.makespan);

  const hp::makespan_bound b = hp::bound_makespan(f, p.machine, how.synchronisation, x);
  EXPECT_LE(b.value, makespan);
  EXPECT_EQ(b.value, std::max({b.critical_path, b.work, b.head_work_tail}));
  // Graham, typed pools: work of every pool / its queues, one after the other, plus the longest chain.
  std::int64_t graham = b.critical_path;
  for (int r = 0; r < hp::resource_count; ++r) {
    std::int64_t work = 0;
    for (int t = 0; t < n.tasks; ++t)
      if (static_cast<int>(f.task[t].kind) == r) work += f.task[t].duration;
    if (p.machine.queues[r] > 0) graham += (work + p.machine.queues[r] - 1) / p.machine.queues[r];
  }
  if (how.synchronisation == 0 && p.machine.ranks == 1 && how.policy == hp::priority::upward_rank) {
    EXPECT_LE(makespan, graham);
  }
}

TEST(ListSchedule, LawsOnRandomFlows) {
  std::mt19937 random(5);
  for (int i = 0; i < 3000 && !HasFatalFailure(); ++i) {
    const loose_plan p = random_plan(random, 1 + below(random, 40));
    for (const hp::priority policy : {hp::priority::upward_rank, hp::priority::reference_order})
      for (const std::int64_t hop : {0, 3}) expect_laws(p, {policy, hop});
  }
}

TEST(ListSchedule, SortsManyTasksWithLargeDigits) {
  // More than 512 tasks: other digits, same order; ties by index.
  loose_plan p;
  p.machine = {1, {4, 0, 0, 0, 0}};
  std::mt19937 random(9);
  for (int t = 0; t < 1500; ++t) {
    p.task.push_back({});
    p.task.back().duration = std::int64_t{1000000} * below(random, 900);
  }
  const hp::taskflow_size n = hp::measure(p);
  hp::owned_taskflow f(n);
  p(f);
  hp::owned_schedule s(n.tasks, 4);
  hp::owned_schedule_scratch x(n, 4);
  ASSERT_EQ(hp::list_schedule(f, p.machine, {}, s, x), hp::schedule_status{});
  for (int i = 1; i < n.tasks; ++i) {
    const int a = s.order[i - 1], b = s.order[i];
    ASSERT_TRUE(f.task[a].duration > f.task[b].duration || (f.task[a].duration == f.task[b].duration && a < b));
  }
}

TEST(ListSchedule, NamesWhatTheMachineLacks) {
  hp::owned_schedule s(50, 6);
  hp::owned_taskflow f(hp::measure(tiles));
  tiles(f);
  hp::seal(f);
  hp::owned_schedule_scratch x(f.size, 6);
  EXPECT_EQ(hp::list_schedule(f, {1, {3, 0, 1, 0, 0}}, {hp::priority::reference_order, 0}, s, x),
            (hp::schedule_status{hp::schedule_code::no_queue_of_the_class, 5}));
  f.task[0].rank = 1;
  EXPECT_EQ(hp::list_schedule(f, machine, {hp::priority::reference_order, 0}, s, x),
            (hp::schedule_status{hp::schedule_code::rank_outside_the_machine, 0}));
}

}  // namespace
