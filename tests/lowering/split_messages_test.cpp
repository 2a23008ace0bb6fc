// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/split_messages.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>

#include <lowering/broken_tables.hpp>
#include <lowering/runnable_program.hpp>

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace hp = hyperparallel;

namespace {

using hp::split_kind;

constexpr hp::growing_array<int> processes_of(int ranks, int processes) {
  hp::growing_array<int> home;
  for (int r = 0; r < ranks; ++r) home.push((2 * r + 1) % processes);
  return home;
}

/// first(x) -> a, cut over four devices; a moves to b, which is whole; second(x) -> c; third(b, c) -> d.
constexpr hp::lowered_program small_program() {
  using enum programs::vector_program::lies;
  programs::vector_program v(4);
  const int x = v.value(0, whole, true), a = v.value(1, cut), b = v.value(1, whole), c = v.value(2, whole);
  v.compute(x, -1, a);
  v.move(a, b);
  v.compute(x, -1, c);
  v.compute(b, c, v.value(3, whole));
  return hp::lower(v.p, {.lookahead = 9}, hp::micro_phases);
}

constexpr bool splits_at_compile_time() {
  using enum split_kind;
  const hp::lowered_program l = small_program();
  if (!l.status.ok()) return false;
  // Ranks 0 and 2 live on process 1, the others on process 3; processes 0 and 2 have none.
  const hp::split_flow f = hp::split_messages(l, l.run[0], processes_of(4, 4), 4);
  hp::growing_array<hp::split_entry> of[2];
  for (int i = 0; i < 2; ++i)
    for (const hp::split_entry& e :
         {hp::split_entry{compute, 0}, hp::split_entry{open, 1, -1, 0}, hp::split_entry{receive, 1, 3 - 2 * i},
          hp::split_entry{send, 1, 3 - 2 * i}, hp::split_entry{copy, 1}, hp::split_entry{compute, 2},
          hp::split_entry{close, 1}, hp::split_entry{compute, 3}})
      of[i].push(e);
  return f.entry[0].empty() && f.entry[1] == of[0] && f.entry[2].empty() && f.entry[3] == of[1];
}
static_assert(splits_at_compile_time());

// The laws of the header, of steps of training on processes of one rank, of several and of none.
TEST(SplitMessages, KeepTheirLawsUnderEveryStrategy) {
  int flows = 0, pulls = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const hp::sharded_program p = programs::program_of(hp::named_strategy_at(i).name, 4, 1);
    if (p.status.code != hp::strategy_code::ok) continue;
    const hp::lowered_program l =
        hp::lower(p, {.topology = programs::links_of(p)[static_cast<std::size_t>(i % 3)], .lookahead = i % 5},
                  hp::micro_phases | hp::update_phases);
    ASSERT_TRUE(l.status.ok());
    const hp::program_plan& plan = l.run[0].plan;
    for (const int processes : {1, 2, 4, 5}) {
      const hp::growing_array<int> home = processes_of(4, processes);
      const hp::split_flow f = hp::split_messages(l, l.run[0], home, processes, {.most_in_flight = 1 + i % 3});
      ++flows;
      std::set<std::vector<int>> wanted, sent, received;  // row, sender, receiver
      for (int row = 0; row < plan.row.size; ++row) {
        const hp::program_step& s = l.program.step[plan.row[row].step];
        if (!s.is_move) continue;
        const hp::move_pulls& how = l.pulls.of(s.index);
        for (int r = 0; r < 4; ++r)
          for (int k = how.sender_begin[plan.row[row].first_item + r];
               k < how.sender_begin[plan.row[row].first_item + r + 1]; ++k)
            if (home[how.sender[k]] != home[r]) wanted.insert({row, home[how.sender[k]], home[r]});
      }
      pulls += static_cast<int>(wanted.size());
      std::map<std::pair<int, int>, std::vector<int>> order_sent, order_received;  // rows of each pair
      std::vector<std::vector<int>> opened;  // rows of each process that hosts a rank
      for (int process = 0; process < processes; ++process) {
        std::vector<int> open, rows;
        std::map<int, int> taken;  // rows by places
        for (const hp::split_entry& e : f.entry[process]) {
          if (e.kind == split_kind::open) {
            int free = 0;
            while (taken.contains(free)) ++free;
            EXPECT_EQ(e.place, free);
            taken[free] = e.row;
            open.push_back(e.row);
            rows.push_back(e.row);
            EXPECT_LE(static_cast<int>(open.size()), f.window);
          } else if (e.kind == split_kind::close) {
            ASSERT_FALSE(open.empty());
            EXPECT_EQ(open.front(), e.row);
            open.erase(open.begin());
            std::erase_if(taken, [&](const auto& one) { return one.second == e.row; });
          } else if (e.kind != split_kind::compute) {
            EXPECT_EQ(open.back(), e.row);
          }
          if (e.kind == split_kind::send) {
            EXPECT_TRUE(sent.insert({e.row, process, e.peer}).second);
            order_sent[{process, e.peer}].push_back(e.row);
          }
          if (e.kind == split_kind::receive) {
            EXPECT_TRUE(received.insert({e.row, e.peer, process}).second);
            order_received[{e.peer, process}].push_back(e.row);
          }
        }
        EXPECT_TRUE(open.empty());
        if (f.entry[process].size > 0) opened.push_back(rows);
      }
      EXPECT_EQ(sent, wanted);
      EXPECT_EQ(received, wanted);
      EXPECT_EQ(order_sent, order_received);
      for (const std::vector<int>& rows : opened) EXPECT_EQ(rows, opened.front());
    }
  }
  EXPECT_GE(flows, 60);
  EXPECT_GT(pulls, 1000);
}

TEST(SplitMessages, KindsHaveNames) {
  EXPECT_STREQ(hp::name_of(split_kind::compute), "compute");
  EXPECT_STREQ(hp::name_of(split_kind::close), "close");
}

}  // namespace
