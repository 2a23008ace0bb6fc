// SPDX-License-Identifier: Apache-2.0
// Queues as the flow lists its tasks: those of the list schedule by reference order, where no pool has a choice.

#include <hyperparallel/taskflow/schedule_options.hpp>

#include <gtest/gtest.h>

#include <string>

#include "flows.hpp"

namespace {

using namespace taskflow_test;

TEST(ScheduleOptions, ListedQueuesAreThoseOfTheReferenceOrderInPoolsOfOne) {
  std::mt19937 random(7);
  for (int i = 0; i < 1000; ++i) {
    loose_plan p = random_plan(random, 1 + below(random, 40));
    const bool lacks = below(random, 8) == 0;
    for (int& pool : p.machine.queues) pool = pool > 0 ? (lacks ? below(random, 2) : 1) : 0;
    const hp::taskflow_size n = hp::measure(p);
    const int queues = hp::queue_count(p.machine);
    hp::owned_taskflow f(n);
    p(f);
    hp::seal(f);
    hp::owned_schedule timed(n.tasks, queues), listed(n.tasks, queues);
    hp::owned_schedule_scratch x(n, queues);
    const hp::schedule_status status = hp::list_schedule(f, p.machine, {hp::priority::reference_order}, timed, x);
    ASSERT_EQ(hp::list_schedule(f, p.machine, {hp::priority::listed_queues}, listed, x), status);
    if (status.code != hp::schedule_code::ok) continue;
    EXPECT_EQ(listed.makespan, hp::not_counted);
    for (int t = 0; t < n.tasks; ++t) {
      ASSERT_EQ(listed.order[t], timed.order[t]);
      ASSERT_EQ(listed.queue[t], timed.queue[t]);
      ASSERT_EQ(listed.queue_task[t], timed.queue_task[t]);
    }
    for (int q = 0; q <= queues; ++q) ASSERT_EQ(listed.queue_begin[q], timed.queue_begin[q]);
    p.task.push_back(p.task[0]);
    p.task.back().rank = p.machine.ranks;
    hp::owned_taskflow outside(hp::measure(p));
    p(outside);
    EXPECT_EQ(hp::list_schedule(outside, p.machine, {hp::priority::listed_queues}, listed, x).code,
              hp::schedule_code::rank_outside_the_machine);
  }
}

TEST(ScheduleOptions, OfALargerPoolTheFirstQueueTakesAll) {
  loose_plan p;
  p.machine = {1, {3, 0, 0, 0, 0}};
  for (int t = 0; t < 4; ++t) p.task.push_back({});
  hp::owned_taskflow f(hp::measure(p));
  p(f);
  hp::owned_schedule s(4, 3);
  hp::owned_schedule_scratch x(f.size, 3);
  ASSERT_EQ(hp::list_schedule(f, p.machine, {hp::priority::listed_queues}, s, x), hp::schedule_status{});
  for (int t = 0; t < 4; ++t) EXPECT_EQ(s.queue[t], 0);
  EXPECT_EQ(s.queue_begin[1], 4);
}

TEST(ScheduleOptions, EachCodeHasItsText) {
  for (const hp::schedule_code c :
       {hp::schedule_code::ok, hp::schedule_code::rank_outside_the_machine, hp::schedule_code::no_queue_of_the_class})
    EXPECT_NE(std::string(hp::to_text(c)), "unknown");
}

}  // namespace
