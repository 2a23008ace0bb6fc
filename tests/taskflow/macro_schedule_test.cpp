// SPDX-License-Identifier: Apache-2.0
// Queues of a flow with macro tasks: in reference order, members where the chain has them and side by side.

#include <hyperparallel/taskflow/macro_schedule.hpp>

#include <gtest/gtest.h>

#include "macro_layers.hpp"
#include "macro_worlds.hpp"

namespace {

using namespace taskflow_test;

TEST(MacroSchedule, QueuesAreInReferenceOrderAndMembersSideBySide) {
  std::mt19937 random(17);
  int members = 0;
  for (int turn = 0; turn < 300; ++turn) {
    macro_world w(random, macro_mutation::dropped_head_wait);  // its queues are as they were frozen
    if (!w.schedule) continue;
    const hp::dynamic_schedule& s = *w.schedule;
    ASSERT_EQ(s.task_count, w.flow.size.tasks);
    for (int q = 0; q < w.queues(); ++q)
      for (int p = s.queue_begin[q]; p < s.queue_begin[q + 1]; ++p) {
        const int t = s.queue_task[p];
        ASSERT_EQ(s.queue[t], q);
        ASSERT_EQ(s.order[t], t);
        if (p > s.queue_begin[q]) {
          ASSERT_LT(s.queue_task[p - 1], t);
        }
        if (w.flow.task[t].instance >= 0) continue;
        ASSERT_LT(p + 1, s.queue_begin[q + 1]);
        ASSERT_EQ(w.flow.task[s.queue_task[p + 1]].instance, -w.flow.task[t].instance);
        ++members;
      }
  }
  EXPECT_GT(members, 500);
}

TEST(MacroSchedule, TasksOfNoInstanceGoWhereLeastIsToDo) {
  const auto build = [](auto& f) {
    for (const int duration : {5, 2, 2, 2, 9}) hp::add_task(f, hp::resource::aic, 0, duration, 0, 0);
  };
  constexpr hp::taskflow_size size{5, 0, 0, 0, 0, 0, 0, 0, 5};
  const auto f = hp::build_fixed<size>(build);
  const auto s = hp::schedule_macro_tasks<2>(f, hp::machine_shape{1, {2}}, {});
  for (int t = 0; t < 5; ++t) EXPECT_EQ(s.queue[t], (t == 0 || t == 4 ? 0 : 1)) << t;
}

TEST(MacroSchedule, AConstantEqualsTheRunTimeForm) {
  static constexpr layer_stack<4> stack;
  static constexpr auto f = hp::build_fixed<hp::measure(stack)>(stack);
  static constexpr layer_table<4> table(f.size.events);
  static constexpr auto constant =
      hp::schedule_macro_tasks<layer_queues>(f, layer_machine, table.table(), proved_layer.contract);
  hp::owned_schedule s(f.size.tasks, layer_queues);
  std::int64_t load[layer_queues + 1];
  hp::schedule_macro_tasks(f, layer_machine, table.table(), s, load, proved_layer.contract);
  for (int i = 0; i < f.size.tasks; ++i) {
    EXPECT_EQ(s.queue[i], constant.queue[i]);
    EXPECT_EQ(s.queue_task[i], constant.queue_task[i]);
  }
}

}  // namespace
