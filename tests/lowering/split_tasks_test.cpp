// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/split_tasks.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/taskflow/owned.hpp>

#include <lowering/broken_tables.hpp>

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace hp = hyperparallel;

namespace {

using hp::split_kind;
using hp::split_task;

/// The memory and its uses as a taskflow.
struct memory_alone {
  const hp::detail::split_tasks& tasks;
  template <class Flow>
  void operator()(Flow& f) const {
    tasks.add_memory(f);
    for (const split_task& t : tasks.task) {
      hp::add_task(f, hp::resource::aic, t.process, 1, t.row, 0);
      if (!t.is_message()) tasks.add_uses(f, t);
    }
  }
};

TEST(SplitTasks, AreThoseOfThePlanInItsOrder) {
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const hp::sharded_program p = programs::program_of(hp::named_strategy_at(i).name, 4, 1);
    if (p.status.code != hp::strategy_code::ok) continue;
    const hp::lowered_program l = hp::lower(p, {}, hp::micro_phases | hp::update_phases);
    ASSERT_TRUE(l.status.ok());
    hp::growing_array<int> home;  // process 1 has no rank
    for (const int process : {2, 0, 2, 3}) home.push(process);
    const hp::detail::split_tasks tasks(l, l.run[0], home, 4);
    int row = 0, messages = 0;
    for (int t = 0; t < tasks.task.size; ++t) {
      const split_task& one = tasks.task[t];
      EXPECT_EQ(tasks.task_at(one), t);
      EXPECT_GE(one.row, row);
      row = one.row;
      EXPECT_NE(one.process, 1);
      const hp::program_step& s = l.program.step[l.run[0].plan.row[row].step];
      EXPECT_EQ(one.kind == split_kind::compute, !s.is_move);
      messages += one.is_message() ? 1 : 0;
    }
    EXPECT_EQ(messages, 2 * tasks.messages());
    for (int m = 0; m < tasks.messages(); ++m) {
      const split_task &from = tasks.task[tasks.send[m]], &to = tasks.task[tasks.receive[m]];
      EXPECT_LT(tasks.send[m], tasks.receive[m]);
      EXPECT_EQ(from.kind, split_kind::send);
      EXPECT_EQ(to.kind, split_kind::receive);
      EXPECT_EQ(from.row, to.row);
      EXPECT_EQ(from.process, to.peer);
      EXPECT_EQ(from.peer, to.process);
      int found = 0;
      tasks.visit_messages({split_kind::close, from.row, from.process}, [&](int t) { found += t == tasks.send[m]; });
      tasks.visit_messages({split_kind::close, to.row, to.process}, [&](int t) { found += t == tasks.receive[m]; });
      EXPECT_EQ(found, 2);
    }
    for (const split_task& none : {split_task{split_kind::compute, -1, 0}, split_task{split_kind::compute, 100'000, 0},
                                   split_task{split_kind::compute, 0, 1}, split_task{split_kind::send, 0, 0, 1}})
      EXPECT_EQ(tasks.task_at(none), -1);
  }
}

// Slots are apart, and each use is the place's lines on each of the process's ranks.
TEST(SplitTasks, UseTheAddressesOfTheirPlaces) {
  const hp::sharded_program p = programs::program_of("zero3-tp", 4, 1);
  const hp::lowered_program l = hp::lower(p, {.topology = tested::node_links()}, hp::micro_phases | hp::update_phases);
  ASSERT_TRUE(l.status.ok());
  const hp::program_plan& plan = l.run[0].plan;
  hp::growing_array<int> home;
  for (const int process : {1, 0, 1, 1}) home.push(process);
  const hp::detail::split_tasks tasks(l, l.run[0], home, 2);
  const memory_alone builds{tasks};
  hp::owned_taskflow f(hp::measure(builds));
  builds(f);
  const int slots = f.size.slots / 4;
  for (int a = 0; a < slots; ++a)
    for (int b = 0; b < a; ++b)
      EXPECT_TRUE(f.slot[a].tier != f.slot[b].tier || f.slot[a].offset >= f.slot[b].offset + f.slot[b].bytes ||
                  f.slot[b].offset >= f.slot[a].offset + f.slot[a].bytes);
  EXPECT_EQ(hp::detail::uses_of_split_tasks(l.program, plan), f.size.accesses);
  const programs::plan_with_accesses places{l.program, l.pulls, l.addresses, plan};
  using lines = std::tuple<int, int, int, bool>;  // rank, first line, its end, whether it is written
  for (int t = 0; t < tasks.task.size; ++t) {
    const split_task& one = tasks.task[t];
    if (one.is_message()) continue;
    std::set<lines> used, wanted;
    for (int a = f.task[t].access_begin; a < f.task[t].access_end; ++a) {
      const hp::access& u = f.access[a];
      const int first = static_cast<int>(f.slot[u.slot].offset / hp::detail::storage_alignment);
      used.insert({u.slot / slots, first + u.begin, first + u.end, u.mode == hp::access_mode::write});
    }
    const hp::program_step& s = l.program.step[plan.row[one.row].step];
    for (int r = 0; r < 4; ++r) {
      if (home[r] != one.process) continue;
      const auto want = [&](int place, bool writes) {
        const auto at = places.of_place(place);
        constexpr int words = hp::detail::storage_alignment / programs::plan_with_accesses::word;
        if (at.begin < at.end) wanted.insert({r, at.begin / words, (at.end + words - 1) / words, writes});
      };
      if (!s.is_move) {
        hp::detail::visit_values(l.program, s, [&](int v, bool writes) { want(l.program.value[v].storage, writes); });
        continue;
      }
      const hp::move_row& of = l.pulls.of(s.index).row[plan.row[one.row].first_item / 4];
      want(hp::detail::place_read(l.program, l.pulls.moves, s.index, of), false);
      want(hp::detail::place_written(l.program, l.pulls.moves, s.index, of), true);
    }
    EXPECT_EQ(used, wanted) << hp::name_of(one.kind) << " of row " << one.row;
  }
}

}  // namespace
