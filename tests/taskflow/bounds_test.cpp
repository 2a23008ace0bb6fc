// SPDX-License-Identifier: Apache-2.0
// The bounds against every schedule of tiny flows and random schedules of larger ones, and a flow for each bound that
// meets it.

#include <gtest/gtest.h>

#include <algorithm>

#include "flows.hpp"

namespace {

using namespace taskflow_test;

/// A schedule in the making: tasks are placed one after the other, each at the end of some queue of its pool.
struct placing {
  std::vector<std::int64_t> end;         ///< task -> end, -1 while it is not placed
  std::vector<std::int64_t> queue_free;  ///< queue -> when it is free
  std::int64_t makespan = 0;
};

/// Earliest start of `t` by its waits, -1 while one of them lacks a signaller; a wait in part needs the first
/// signallers in reference order, for their one queue has to run them so.
std::int64_t released(const hp::dynamic_taskflow& f, const placing& p, int t, std::int64_t hop) {
  std::int64_t start = 0;
  for (int w = f.task[t].wait_begin; w < f.task[t].wait_end; ++w) {
    int needed = f.wait[w].threshold;
    for (int u = 0; u < f.size.tasks; ++u)
      for (int g = f.task[u].signal_begin; g < f.task[u].signal_end; ++g) {
        if (f.signal[g] != f.wait[w].event || needed-- <= 0) continue;
        if (p.end[static_cast<std::size_t>(u)] < 0) return -1;
        start = std::max(start, p.end[static_cast<std::size_t>(u)] + hop);
      }
  }
  return start;
}

bool waited_for_in_part(const hp::dynamic_taskflow& f, int event) {
  for (int w = 0; w < f.size.waits; ++w)
    if (f.wait[w].event == event && f.wait[w].threshold < f.event[event].signals) return true;
  return false;
}

/// Whether `t` signals an event that is waited for in part and an earlier signaller of it is still to be placed.
bool out_of_order(const hp::dynamic_taskflow& f, const placing& p, int t) {
  for (int g = f.task[t].signal_begin; g < f.task[t].signal_end; ++g) {
    if (!waited_for_in_part(f, f.signal[g])) continue;
    for (int u = 0; u < t; ++u)
      for (int h = f.task[u].signal_begin; h < f.task[u].signal_end; ++h)
        if (f.signal[h] == f.signal[g] && p.end[static_cast<std::size_t>(u)] < 0) return true;
  }
  return false;
}

placing place(const hp::dynamic_taskflow& f, placing p, int t, int queue, std::int64_t start) {
  std::int64_t& free = p.queue_free[static_cast<std::size_t>(queue)];
  free = std::max(free, start) + f.task[t].duration;
  p.end[static_cast<std::size_t>(t)] = free;
  p.makespan = std::max(p.makespan, free);
  return p;
}

placing nothing_placed(int tasks, int queues) {
  placing p;
  p.end.assign(static_cast<std::size_t>(tasks), -1);
  p.queue_free.assign(static_cast<std::size_t>(queues), 0);
  return p;
}

/// The shortest of all schedules: every order in which the tasks can be placed, every queue of the pool for each.
void try_all(const hp::dynamic_taskflow& f, const hp::machine_shape& m, std::int64_t hop, const placing& p, int placed,
             std::int64_t& best) {
  if (placed == f.size.tasks) {
    best = best < 0 ? p.makespan : std::min(best, p.makespan);
    return;
  }
  for (int t = 0; t < f.size.tasks; ++t) {
    if (p.end[static_cast<std::size_t>(t)] >= 0 || out_of_order(f, p, t)) continue;
    const std::int64_t start = released(f, p, t, hop);
    if (start < 0) continue;
    const int first = hp::detail::first_queue(m, f.task[t].rank, f.task[t].kind);
    for (int u = 0; u < m.queues[static_cast<int>(f.task[t].kind)]; ++u)
      try_all(f, m, hop, place(f, p, t, first + u, start), placed + 1, best);
  }
}

std::int64_t random_schedule(const hp::dynamic_taskflow& f, const hp::machine_shape& m, std::int64_t hop,
                             std::mt19937& random) {
  placing p = nothing_placed(f.size.tasks, hp::queue_count(m));
  for (int placed = 0; placed < f.size.tasks;) {
    const int t = below(random, f.size.tasks);
    if (p.end[static_cast<std::size_t>(t)] >= 0 || out_of_order(f, p, t)) continue;
    const std::int64_t start = released(f, p, t, hop);
    if (start < 0) continue;
    const int first = hp::detail::first_queue(m, f.task[t].rank, f.task[t].kind);
    p = place(f, p, t, first + below(random, m.queues[static_cast<int>(f.task[t].kind)]), start);
    ++placed;
  }
  return p.makespan;
}

struct bounded {
  explicit bounded(const loose_plan& p, std::int64_t hop) : flow(hp::measure(p)) {
    p(flow);
    hp::seal(flow);
    const int queues = hp::queue_count(p.machine);
    hp::owned_schedule_scratch x(flow.size, queues);
    bound = hp::bound_makespan(flow, p.machine, hop, x);
    hp::owned_schedule s(flow.size.tasks, queues);
    EXPECT_EQ(hp::list_schedule(flow, p.machine, {hp::priority::upward_rank, hop}, s, x), hp::schedule_status{});
    makespan = s.makespan;
  }
  hp::owned_taskflow flow;
  hp::makespan_bound bound;
  std::int64_t makespan = 0;  ///< of the list schedule
};

TEST(Bounds, NoScheduleOfATinyFlowIsShorter) {
  std::mt19937 random(23);
  int met = 0, flows = 0;
  for (int i = 0; i < 1500; ++i) {
    const loose_plan p = random_plan(random, 1 + below(random, 6));
    const std::int64_t hop = below(random, 3);
    const bounded b(p, hop);
    std::int64_t best = -1;
    try_all(b.flow, p.machine, hop, nothing_placed(b.flow.size.tasks, hp::queue_count(p.machine)), 0, best);
    ASSERT_GE(best, b.bound.value) << "flow " << i;
    ASSERT_LE(best, b.makespan) << "the exhaustion misses schedules";
    met += best == b.bound.value;
    ++flows;
  }
  EXPECT_GT(met, flows * 3 / 4) << "a bound that is seldom met says little";
}

TEST(Bounds, NoRandomScheduleIsShorter) {
  std::mt19937 random(29);
  for (int i = 0; i < 1500; ++i) {
    loose_plan p = random_plan(random, 1 + below(random, 25));
    p.machine.queues[static_cast<int>(hp::resource::aiv)] = 1 + below(random, 3);
    const std::int64_t hop = below(random, 4);
    const bounded b(p, hop);
    ASSERT_LE(b.bound.value, b.makespan);
    for (int k = 0; k < 6; ++k) ASSERT_LE(b.bound.value, random_schedule(b.flow, p.machine, hop, random)) << i;
  }
}

TEST(Bounds, TheCriticalPathIsMetByAChain) {
  loose_plan p;
  p.machine = {1, {2, 2, 1, 0, 0}};
  p.events = 2;
  p.task = {{hp::resource::aic, 0, 10, {}, {0}, {}},
            {hp::resource::aiv, 0, 20, {{0, hp::all_signals}}, {1}, {}},
            {hp::resource::aic, 0, 30, {{1, hp::all_signals}}, {}, {}},
            {hp::resource::aic, 0, 5, {}, {}, {}}};
  const bounded b(p, 4);
  EXPECT_EQ(b.bound.critical_path, 10 + 4 + 20 + 4 + 30);
  EXPECT_EQ(b.makespan, b.bound.critical_path);
  EXPECT_EQ(b.bound.value, b.makespan);
  EXPECT_LT(b.bound.work, b.makespan);
}

TEST(Bounds, TheWorkOfAPoolIsMetByLooseTasks) {
  loose_plan p;
  p.machine = {2, {3, 1, 0, 0, 0}};
  for (int t = 0; t < 7; ++t) p.task.push_back({hp::resource::aic, 1, 10, {}, {}, {}});
  p.task.push_back({hp::resource::aiv, 0, 11, {}, {}, {}});
  p.task.push_back({hp::resource::aic, 1, 20, {}, {}, {}});
  const bounded b(p, 2);
  EXPECT_EQ(b.bound, (hp::makespan_bound{30, 20, 30, 30, 1, hp::resource::aic}));
  EXPECT_EQ(b.makespan, 30);
  // One picosecond more does not fit into three queues: work is rounded up.
  p.task.push_back({hp::resource::aic, 1, 1, {}, {}, {}});
  EXPECT_EQ(bounded(p, 2).bound.work, 31);
}

TEST(Bounds, HeadWorkTailIsMetByAPipelineThatFillsAndDrains) {
  // Send 7, compute 4 x 10, send back 5 after the last one only: the matrix core waits for the first and is waited for.
  loose_plan p;
  p.machine = {1, {1, 0, 1, 0, 0}};
  p.events = 4 + 1;
  for (int i = 0; i < 4; ++i) {
    p.task.push_back({hp::resource::link, 0, 7, {}, {i}, {}});
    p.task.push_back({hp::resource::aic, 0, 10, {{i, hp::all_signals}}, {4}, {}});
  }
  p.task.push_back({hp::resource::link, 0, 5, {{4, hp::all_signals}}, {}, {}});
  const bounded b(p, 3);
  EXPECT_EQ(b.bound.critical_path, 7 + 3 + 10 + 3 + 5);
  EXPECT_EQ(b.bound.work, 40);
  EXPECT_EQ(b.bound.head_work_tail, (7 + 3) + 40 + (3 + 5));
  EXPECT_EQ(b.bound.value, b.bound.head_work_tail);
  EXPECT_EQ(b.makespan, b.bound.value);
  EXPECT_EQ(b.bound.rank, 0);
  EXPECT_EQ(b.bound.kind, hp::resource::aic);
}

TEST(Bounds, TasksWithoutDurationWidenNoHead) {
  // A free task at time 0 on the matrix core's pool must not hide that its real work starts late.
  loose_plan p;
  p.machine = {1, {1, 0, 1, 0, 0}};
  p.events = 1;
  p.task = {{hp::resource::aic, 0, 0, {}, {}, {}},
            {hp::resource::link, 0, 9, {}, {0}, {}},
            {hp::resource::aic, 0, 4, {{0, hp::all_signals}}, {}, {}},
            {hp::resource::aic, 0, 4, {{0, hp::all_signals}}, {}, {}}};
  const bounded b(p, 0);
  EXPECT_EQ(b.bound.head_work_tail, 17);
  EXPECT_EQ(b.makespan, 17);
}

TEST(Bounds, TheRatioIsRoundedUpAndOneOnlyAtTheBound) {
  for (std::int64_t bound = 1; bound < 60; ++bound)
    for (std::int64_t makespan = bound; makespan < 200; ++makespan) {
      const std::int64_t ratio = hp::makespan_certificate{makespan, bound}.ratio();
      ASSERT_GE(ratio * bound, makespan * 10000);
      ASSERT_LT((ratio - 1) * bound, makespan * 10000);
      ASSERT_EQ(ratio == 10000, makespan == bound);
    }
  // A minute over a second, in picoseconds: no overflow.
  constexpr std::int64_t second = 1000000000000;
  EXPECT_EQ((hp::makespan_certificate{60 * second, second}.ratio()), 600000);
  EXPECT_EQ((hp::makespan_certificate{second + 1, second}.ratio()), 10001);
}

constexpr moe_tiles tiles{4, 1, 0};
constexpr hp::taskflow_size size = hp::measure(tiles);
constexpr hp::machine_shape machine{1, {4, 2, 1, 0, 0}};
constexpr hp::makespan_bound bound_of_tiles() {
  const auto f = hp::build_fixed<size>(tiles);
  hp::detail::fixed_schedule_scratch<size, 7> x;
  return hp::bound_makespan(f, machine, 2000, x);
}
static_assert(bound_of_tiles().value == bound_of_tiles().head_work_tail);
static_assert(bound_of_tiles().kind == hp::resource::aic && bound_of_tiles().work < bound_of_tiles().value);

}  // namespace
