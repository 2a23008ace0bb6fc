// SPDX-License-Identifier: Apache-2.0
// Upward ranks against the longest of all paths, each walked by itself.

#include <gtest/gtest.h>

#include <algorithm>

#include "flows.hpp"

namespace {

using namespace taskflow_test;

/// Who must follow whom, straight from the definition: a waiter follows the signallers it needs after `hop`, and along
/// an event that somebody waits for in part, a later signaller follows an earlier one.
struct successor {
  int task;
  std::int64_t hop;
};

std::vector<std::vector<successor>> successors(const hp::dynamic_taskflow& f, std::int64_t hop) {
  std::vector<std::vector<successor>> after(static_cast<std::size_t>(f.size.tasks));
  for (int e = 0; e < f.size.events; ++e) {
    std::vector<int> signallers;
    for (int t = 0; t < f.size.tasks; ++t)
      for (int g = f.task[t].signal_begin; g < f.task[t].signal_end; ++g)
        if (f.signal[g] == e) signallers.push_back(t);
    bool in_part = false;
    for (int t = 0; t < f.size.tasks; ++t)
      for (int w = f.task[t].wait_begin; w < f.task[t].wait_end; ++w) {
        if (f.wait[w].event != e) continue;
        in_part = in_part || f.wait[w].threshold < static_cast<int>(signallers.size());
        for (int i = 0; i < f.wait[w].threshold; ++i)
          after[static_cast<std::size_t>(signallers[static_cast<std::size_t>(i)])].push_back({t, hop});
      }
    for (std::size_t i = 1; in_part && i < signallers.size(); ++i)
      after[static_cast<std::size_t>(signallers[i - 1])].push_back({signallers[i], 0});
  }
  return after;
}

/// Walks every path from `t`, without a table; `length` is what lies behind.
void walk(const hp::dynamic_taskflow& f, const std::vector<std::vector<successor>>& after, int t, std::int64_t length,
          std::int64_t& longest) {
  length += f.task[t].duration;
  longest = std::max(longest, length);
  for (const successor& s : after[static_cast<std::size_t>(t)]) walk(f, after, s.task, length + s.hop, longest);
}

/// How many waits were for less than the event's total.
int expect_longest_paths(const loose_plan& p, std::int64_t hop) {
  const hp::taskflow_size n = hp::measure(p);
  hp::owned_taskflow f(n);
  p(f);
  hp::seal(f);
  hp::owned_schedule_scratch x(n, 0);
  const std::int64_t critical = hp::upward_ranks(f, hop, x);
  const auto after = successors(f, hop);
  std::int64_t greatest = 0;
  for (int t = 0; t < n.tasks; ++t) {
    std::int64_t longest = 0;
    walk(f, after, t, 0, longest);
    EXPECT_EQ(x.rank[t], longest) << "task " << t;
    greatest = std::max(greatest, longest);
    for (const successor& s : after[static_cast<std::size_t>(t)]) {
      EXPECT_GE(x.rank[t], f.task[t].duration + s.hop + x.rank[s.task]) << t << " before " << s.task;
    }
  }
  EXPECT_EQ(critical, greatest);
  int in_part = 0;
  for (int w = 0; w < n.waits; ++w) in_part += f.wait[w].threshold < f.event[f.wait[w].event].signals;
  return in_part;
}

TEST(UpwardRank, IsTheLongestOfAllPathsOfRandomFlows) {
  std::mt19937 random(17);
  int in_part = 0;
  for (int i = 0; i < 4000 && !HasFailure(); ++i) {
    const loose_plan p = random_plan(random, 1 + below(random, 12));
    for (const std::int64_t hop : {0, 1, 7}) in_part += expect_longest_paths(p, hop);
  }
  EXPECT_GT(in_part, 1000) << "progress words are hardly met";
}

TEST(UpwardRank, IsTheLongestOfAllPathsOfTiles) {
  for (const moe_tiles& m : {moe_tiles{1, 1, 0}, moe_tiles{2, 1, 1}, moe_tiles{2, 2, 0}}) {
    hp::owned_taskflow f(hp::measure(m));
    m(f);
    hp::seal(f);
    hp::owned_schedule_scratch x(f.size, 0);
    hp::upward_ranks(f, 2000, x);
    const auto after = successors(f, 2000);
    for (int t = 0; t < f.size.tasks; ++t) {
      std::int64_t longest = 0;
      walk(f, after, t, 0, longest);
      ASSERT_EQ(x.rank[t], longest) << "task " << t;
    }
  }
}

TEST(UpwardRank, APartialWaitIsNoSuccessorOfALaterSignaller) {
  // Link tasks of 5, 5, 5 on one progress word; a task of 100 waits for the first two only.
  loose_plan p;
  p.machine = {1, {1, 0, 1, 0, 0}};
  p.events = 1;
  for (int i = 0; i < 3; ++i) p.task.push_back({hp::resource::link, 0, 5, {}, {0}, {}});
  p.task.push_back({hp::resource::aic, 0, 100, {{0, 2}}, {}, {}});
  hp::owned_taskflow f(hp::measure(p));
  p(f);
  hp::seal(f);
  hp::owned_schedule_scratch x(f.size, 2);
  EXPECT_EQ(hp::upward_ranks(f, 3, x), 5 + 5 + 3 + 100);
  EXPECT_EQ(x.rank[1], 5 + 3 + 100);
  EXPECT_EQ(x.rank[2], 5);
  EXPECT_EQ(x.rank[3], 100);
}

TEST(UpwardRank, AnEmptyFlowHasNoPath) {
  hp::owned_taskflow f(hp::taskflow_size{});
  hp::owned_schedule_scratch x(f.size, 0);
  EXPECT_EQ(hp::upward_ranks(f, 5, x), 0);
}

/// Two events one after the other, in one constant evaluation.
struct chain {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    hp::add_event(f, 0);
    hp::add_event(f, 0);
    hp::add_task(f, hp::resource::link, 0, 10, 0, 0);
    hp::add_signal(f, 0);
    hp::add_task(f, hp::resource::aic, 0, 20, 0, 1);
    hp::add_wait(f, 0);
    hp::add_signal(f, 1);
    hp::add_task(f, hp::resource::aiv, 0, 30, 0, 2);
    hp::add_wait(f, 1);
  }
};
constexpr hp::taskflow_size chain_size = hp::measure(chain{});
constexpr std::int64_t chain_rank(std::int64_t hop, int task) {
  const auto f = hp::build_fixed<chain_size>(chain{});
  hp::detail::fixed_schedule_scratch<chain_size, 3> x;
  const std::int64_t critical = hp::upward_ranks(f, hop, x);
  return task < 0 ? critical : x.rank[task];
}
static_assert(chain_rank(0, -1) == 60 && chain_rank(4, -1) == 68);
static_assert(chain_rank(4, 0) == 68 && chain_rank(4, 1) == 54 && chain_rank(4, 2) == 30);

}  // namespace
