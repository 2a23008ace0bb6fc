// SPDX-License-Identifier: Apache-2.0
// Positions of the frozen pipeline against a walk through its iterations.

#include <gtest/gtest.h>

#include <hyperparallel/taskflow/periodic_schedule.hpp>

#include <algorithm>

#include "periods.hpp"

namespace {

using namespace taskflow_test;

/// Each queue's tasks in a walk through `copies` copies.
std::vector<std::vector<hp::placed_task>> walk(const hp::owned_periodic_schedule& s, int copies) {
  std::vector<std::vector<hp::placed_task>> queues(small_queues);
  hp::for_each_in_order(
      s, copies, [&](std::int64_t copy, int t) { queues[static_cast<std::size_t>(s.queue[t])].push_back({copy, t}); });
  return queues;
}

/// A schedule of random stages, which need not keep any wait.
void scramble(std::mt19937& random, hp::owned_periodic_schedule& s, int tasks) {
  s.machine = small_machine;
  s.task_count = tasks;
  s.stages = 1;
  for (int t = 0; t < tasks; ++t) {
    s.order[t] = t;
    s.queue[t] = below(random, small_queues);
    s.stage[t] = below(random, hp::most_stages);
    s.stages = std::max(s.stages, s.stage[t] + 1);
  }
  std::shuffle(s.order, s.order + tasks, random);
  hp::owned_freeze_scratch z(tasks, 0, small_queues);
  hp::detail::fill_periodic_queues(s, z.next);
}

TEST(PeriodicSchedule, PositionsAreTheWalk) {
  std::mt19937 random(31);
  for (int i = 0, cases = random_cases(4000); i < cases; ++i) {
    const int tasks = 1 + below(random, 9);
    hp::owned_periodic_schedule s(tasks, small_queues);
    scramble(random, s, tasks);
    for (int copies = 0; copies <= 12; ++copies) {
      const auto queues = walk(s, copies);
      std::vector<int> seen(static_cast<std::size_t>(copies * tasks));
      for (int q = 0; q < small_queues; ++q) {
        const auto& queue = queues[static_cast<std::size_t>(q)];
        ASSERT_EQ(static_cast<std::int64_t>(queue.size()), hp::tasks_of_queue(s, copies, q));
        for (std::size_t at = 0; at < queue.size(); ++at) {
          ASSERT_EQ(hp::task_at(s, copies, q, static_cast<std::int64_t>(at)), queue[at])
              << i << ": queue " << q << " at " << at << " of " << copies << " copies";
          ++seen[static_cast<std::size_t>(queue[at].copy * tasks + queue[at].task)];
        }
      }
      for (const int times : seen) ASSERT_EQ(times, 1);
    }
  }
}

TEST(PeriodicSchedule, AnyCopiesInARowAreThePlanOfSoMany) {
  std::mt19937 random(37);
  for (int i = 0, cases = random_cases(2000); i < cases; ++i) {
    const int tasks = 1 + below(random, 6);
    hp::owned_periodic_schedule s(tasks, small_queues);
    scramble(random, s, tasks);
    const auto all = walk(s, 9);
    for (int first = 0; first < 9; ++first)
      for (int copies = 1; first + copies <= 9; ++copies) {
        auto some = walk(s, copies);
        for (std::size_t q = 0; q < some.size(); ++q) {
          std::vector<hp::placed_task> kept;
          for (const hp::placed_task& t : all[q])
            if (t.copy >= first && t.copy < first + copies) kept.push_back({t.copy - first, t.task});
          ASSERT_EQ(kept, some[q]);
        }
      }
  }
}

TEST(PeriodicSchedule, FarCopiesByArithmetic) {
  const planned_period p(prefetched_layer{});
  const std::int64_t copies = 1LL << 40;
  for (int q = 0; q < small_queues; ++q) {
    const std::int64_t tasks = hp::tasks_of_queue(p.schedule, copies, q);
    if (tasks == 0) continue;
    EXPECT_EQ(hp::task_at(p.schedule, copies, q, tasks - 1).copy, copies - 1);
    EXPECT_EQ(hp::task_at(p.schedule, copies, q, 0).copy, 0);
  }
}

}  // namespace
