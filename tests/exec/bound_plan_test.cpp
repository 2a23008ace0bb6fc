// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/bound_plan.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/taskflow/list_schedule.hpp>
#include <hyperparallel/taskflow/pattern.hpp>

#include "random_plan.hpp"
#include "taskflow/lowered_plans.hpp"
#include "taskflow/plans.hpp"

namespace {

namespace hp = hyperparallel;
using hp::testing_plans::owned_plan;

TEST(BoundPlan, AChainInOneQueueKeepsNoSynchronisation) {
  owned_plan plan;
  plan.build([](auto& f) {
    for (int i = 0; i < 10; ++i) hp::add_event(f, 0);
    for (int i = 0; i < 10; ++i) {
      hp::add_task(f, hp::resource::aic, 0, 1, 0, i);
      if (i > 0) hp::add_wait(f, i - 1);
      hp::add_signal(f, i);
    }
  });
  plan.enqueue({1, {1, 0, 0, 0, 0}}, std::vector<int>(10, 0));
  const hp::bound_plan p(plan.flow, plan.schedule);
  EXPECT_EQ(p.view().size, (hp::execution_size{.tasks = 10, .queues = 1}));
}

TEST(BoundPlan, OwnsWhatItNeedsOfThePlan) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    owned_plan plan;
    random_plan(plan, 60, 4, 4, seed);
    hp::bound_plan first(plan.flow, plan.schedule);
    const std::vector<hp::task> tasks = plan.tasks;
    const std::vector<int> order = plan.queue_task;
    for (hp::task& t : plan.tasks) t = {};
    for (hp::wait& w : plan.waits) w = {};
    for (int& i : plan.signals) i = -1;
    for (int& i : plan.queue_task) i = -1;
    for (hp::access& a : plan.accesses) a = {};
    const hp::bound_plan p = std::move(first);
    const hp::plan_view& v = p.view();
    for (int r = 0; r < v.size.tasks; ++r) {
      EXPECT_EQ(v.record[r].task, order[static_cast<std::size_t>(r)]);
      EXPECT_EQ(v.operation(v.record[r]), v.record[r].task % 3);
      EXPECT_EQ(v.task[r].duration, tasks[static_cast<std::size_t>(r)].duration);
      EXPECT_EQ(v.written_slot(r), r);  // every task of these plans writes the slot of its own number
    }
  }
}

/// Two vector tasks fill a slot, a matrix task reads it; `copy` moves events and slots on.
struct filled_slot {
  int copy = 0;
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int e = hp::add_event(f, 0), s = hp::add_slot(f, 0, 0, 64 * copy, 64);
    for (int half = 0; half < 2; ++half) {
      hp::add_task(f, hp::resource::aiv, 0, 1, 0, 2 * copy + half);
      hp::add_signal(f, e);
      hp::add_access(f, s, 32 * half, 32 * half + 32, hp::access_mode::write);
    }
    hp::add_task(f, hp::resource::aic, 0, 1, 1, copy);
    hp::add_wait(f, e);
    hp::add_access(f, s, 0, 64, hp::access_mode::read);
  }
};
constexpr auto filled_pattern = hp::build_pattern<hp::measure(filled_slot{})>(filled_slot{});

TEST(BoundPlan, CopiesOfAPatternBindLikeTasksWrittenOneByOne) {
  constexpr int copies = 5;
  owned_plan stamped, written;
  stamped.build([](auto& f) {
    const auto placed = hp::place(f, filled_pattern);
    for (int c = 0; c < copies; ++c) hp::stamp(f, placed, c);
  });
  written.build([](auto& f) {
    for (int c = 0; c < copies; ++c) filled_slot{c}(f);
  });
  std::vector<int> queue_of;
  for (int c = 0; c < copies; ++c) queue_of.insert(queue_of.end(), {1, 2, 0});
  stamped.enqueue({1, {1, 2, 0, 0, 0}}, queue_of);
  written.enqueue({1, {1, 2, 0, 0, 0}}, queue_of);
  const hp::bound_plan first(stamped.flow, stamped.schedule), second(written.flow, written.schedule);
  const hp::plan_view &a = first.view(), &b = second.view();
  ASSERT_EQ(a.size, b.size);
  EXPECT_EQ(a.size.waits, 2 * copies);  // the matrix queue waits for both vector queues, copy by copy
  for (int i = 0; i < a.size.waits; ++i) EXPECT_EQ(a.wait[i], b.wait[i]) << i;
  for (int i = 0; i < a.size.readers; ++i) EXPECT_EQ(a.reader[i], b.reader[i]) << i;
  for (int i = 0; i < a.size.tasks; ++i) EXPECT_EQ(a.record[i], b.record[i]) << i;
  for (int t = 0; t < a.size.tasks; ++t) EXPECT_EQ(a.written_slot(t), b.written_slot(t)) << t;
}

constexpr auto copied_flow = hp::build_fixed<hp::measure(filled_slot{3})>(filled_slot{3});
constexpr auto copied_schedule = hp::schedule_fixed<3>(copied_flow, {1, {1, 2, 0, 0, 0}});
using copied = hp::constant_plan<copied_flow, copied_schedule>;

TEST(BoundPlan, AConstantPlanStaysWhereTheCompilerPutIt) {
  const hp::bound_plan p(copied{});
  EXPECT_EQ(p.view().record, copied::table.record);
  EXPECT_EQ(p.view().wait, copied::table.wait);
  EXPECT_EQ(p.view().task, copied_flow.task);
  const hp::bound_plan moved(copied_flow, copied_schedule);
  ASSERT_EQ(moved.view().size, p.view().size);
  for (int i = 0; i < p.view().size.tasks; ++i) EXPECT_EQ(moved.view().record[i], p.view().record[i]);
}

TEST(BoundPlan, ExpertsOverRanksPromiseTheirPlansOrderExactly) {
  for (const int ranks : {1, 2, 4}) {
    const taskflow_test::loose_plan layer =
        taskflow_test::experts_plan(ranks, 4, 3, false, hp::priority::reference_order);
    const hp::planned_flow planned(layer, layer.machine, {hp::priority::reference_order, 0});
    const hp::bound_plan p(planned.flow(), planned.schedule());
    ASSERT_GT(planned.flow().size.tasks, 30);
    EXPECT_EQ(taskflow_test::order_of_table(p.view()), taskflow_test::order_of_plan(planned.flow(), planned.schedule()))
        << ranks;
    EXPECT_EQ(p.view().size.counters > 0, ranks > 1);  // one-sided signals
  }
}

void expect_refused(owned_plan& plan, const std::string& text) {
  try {
    const hp::bound_plan p(plan.flow, plan.schedule);
    FAIL() << "accepted, expected: " << text;
  } catch (const hp::bind_error& e) {
    EXPECT_EQ(std::string(e.what()), text);
  }
}

TEST(BoundPlan, ABrokenScheduleIsRefusedByName) {
  owned_plan plan;
  random_plan(plan, 4, 2, 1, 1);
  const std::vector<int> good = plan.queue_task;
  plan.queue_task[0] = good[1];
  const int twice_in = plan.queue_begin[1] >= 2 ? 0 : 1;
  expect_refused(
      plan, "queue " + std::to_string(twice_in) + " names task " + std::to_string(good[1]) + ", which is queued twice");
  plan.queue_task[0] = 9;
  expect_refused(plan,
                 "queue " + std::string(plan.queue_begin[1] > 0 ? "0" : "1") + " names task 9, which does not exist");
  plan.queue_task = good;
  plan.schedule.queue_task = plan.queue_task.data();
  plan.queue_begin[2] = 3;
  expect_refused(plan, "task " + std::to_string(good[3]) + " is in no queue");
  plan.queue_begin[2] = 5;
  expect_refused(plan, "queue 1 has a broken range of tasks");
  plan.queue_begin[2] = 4;
  plan.schedule.task_count = 3;
  expect_refused(plan, "the schedule holds 3 tasks, the taskflow 4");
  plan.schedule.task_count = 4;
  plan.signals[0] = 99;
  expect_refused(plan, "signal 0 names event 99");
  plan.signals[0] = 0;
  plan.tasks[1].operation = 1 << 20;
  expect_refused(plan, "operations 0 and 1048576 are too far apart for one table of kernels");
}

}  // namespace
