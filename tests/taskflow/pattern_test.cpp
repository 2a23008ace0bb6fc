// SPDX-License-Identifier: Apache-2.0
// Copies of a pattern against the same builder run once for each copy with every number shifted by hand.

#include <gtest/gtest.h>

#include <hyperparallel/taskflow/pattern.hpp>

#include <vector>

#include "flows.hpp"

namespace {

using namespace taskflow_test;

/// A put, two runs of tiles and a task that returns their result; `copy` shifts what the copies of a pattern shift.
struct block {
  int copy = 0;
  std::int64_t longer = 0;

  template <class Flow>
  constexpr void operator()(Flow& f) const {
    using enum hp::access_mode;
    const int e = hp::add_event(f, 0, 4), s = hp::add_slot(f, 0, 0, 64 + 192 * copy, 64, 3, 64);
    hp::add_slot(f, 0, 1, 8 + 24 * copy, 24);
    hp::task_draft d;
    d.task.kind = hp::resource::link;
    d.task.duration = 5 + longer;
    d.task.item = copy;
    d.signals = d.accesses = 1;
    d.signal[0] = e;
    d.access[0] = {s, 0, 4, write};
    hp::append(f, d);
    for (int half = 0; half < 2; ++half) {
      d.task.kind = hp::resource::aic;
      d.task.duration = 30 + longer;
      d.task.operation = 1;
      d.task.item = 5 * copy + 2 * half;
      d.waits = 1;
      d.wait[0] = {e, hp::all_signals};
      d.signal[0] = e + 1 + half;
      d.accesses = 2;
      d.access[0] = {s, 0, 4, read};
      d.access[1] = {s + 1 + half, 0, 1, write, 1};
      hp::append(f, d, 2 + half);
    }
    hp::add_task(f, hp::resource::aiv, 0, 7 + longer, 2, copy);
    hp::add_wait(f, e + 1);
    hp::add_wait(f, e + 2, 3);
    hp::add_signal(f, e + 3);
    hp::add_access(f, s + 3, 0, 24, write);
  }
};

constexpr hp::taskflow_size size = hp::measure(block{});
constexpr auto pattern = hp::build_pattern<size>(block{});

struct copies {
  int count;
  bool stamped;

  template <class Flow>
  constexpr void operator()(Flow& f) const {
    if (stamped) {
      const auto placed = hp::place(f, pattern);
      for (int c = 0; c < count; ++c) EXPECT_EQ(hp::stamp(f, placed, c, c % 3), c * size.tasks);
    } else {
      for (int c = 0; c < count; ++c) block{c, c % 3}(f);
    }
  }
};

template <class T>
std::vector<T> shifted(const T* list, int begin, int end, int T::* field, int by) {
  std::vector<T> all(list + begin, list + end);
  for (T& one : all) one.*field += by;
  return all;
}

/// What task `t` waits for, signals and accesses, whoever shares the lists.
std::vector<int> uses_of(const hp::dynamic_taskflow& f, int t) {
  const hp::task& k = f.task[t];
  std::vector<int> all;
  for (const hp::wait& w : shifted(f.wait, k.wait_begin, k.wait_end, &hp::wait::event, k.first_event))
    all.insert(all.end(), {w.event, w.threshold});
  all.push_back(-1);
  for (int g = k.signal_begin; g < k.signal_end; ++g) all.push_back(f.signal[g] + k.first_event);
  all.push_back(-1);
  for (const hp::access& a : shifted(f.access, k.access_begin, k.access_end, &hp::access::slot, k.first_slot))
    all.insert(all.end(), {a.slot, a.begin, a.end, static_cast<int>(a.mode), a.step});
  return all;
}

/// Schedules `f` and holds the plan against every reader of a flow.
struct judged {
  explicit judged(const hp::dynamic_taskflow& f)
      : schedule(f.size.tasks, 4),
        line(f.size.tasks),
        scratch(f.size, 4),
        proof(f.size, 4),
        exact(f.size, 4),
        y(f.size, 4) {
    const hp::machine_shape machine{1, {2, 1, 1, 0, 0}};
    EXPECT_EQ(hp::list_schedule(f, machine, {hp::priority::upward_rank, 3}, schedule, scratch), hp::schedule_status{});
    bound = hp::bound_makespan(f, machine, 3, scratch);
    EXPECT_EQ(hp::verify(f, schedule, proof), hp::verify_status{});
    EXPECT_EQ(hp::check_exactly(f, schedule, exact), hp::exact_status{});
    simulated = hp::simulate(f, schedule, {3, false}, line, y);
    EXPECT_EQ(simulated.makespan, schedule.makespan);
  }
  hp::owned_schedule schedule;
  hp::owned_timeline line;
  hp::owned_schedule_scratch scratch;
  hp::detail::owned_verify_scratch proof;
  hp::detail::owned_exact_scratch exact;
  hp::owned_simulation_scratch y;
  hp::makespan_bound bound;
  hp::simulation_result simulated;
};

TEST(Pattern, CopiesAreWhatTheBuilderWrites) {
  for (int count : {0, 1, 2, 7}) {
    const copies one{count, true}, other{count, false};
    const hp::taskflow_size n = hp::measure(one), m = hp::measure(other);
    hp::owned_taskflow f(n), g(m);
    one(f);
    hp::seal(f);
    other(g);
    hp::seal(g);
    ASSERT_EQ(f.size, n);
    ASSERT_EQ(g.size, m);
    hp::taskflow_size written = n;  // lists stand once, whatever the number of copies
    written.waits = count * n.waits;
    written.signals = count * n.signals;
    written.accesses = count * n.accesses;
    ASSERT_EQ(written, m);
    ASSERT_TRUE(n.waits == size.waits && n.signals == size.signals && n.accesses == size.accesses);
    ASSERT_TRUE(f.thresholds == 1 && g.thresholds == count);
    for (int t = 0; t < n.tasks; ++t) {
      const hp::task &a = f.task[t], &b = g.task[t];
      ASSERT_TRUE(a.kind == b.kind && a.rank == b.rank && a.duration == b.duration && a.operation == b.operation) << t;
      ASSERT_TRUE(a.item == b.item && a.part == b.part) << t;
      ASSERT_EQ(uses_of(f, t), uses_of(g, t)) << t;
    }
    for (int r = 0; r <= n.runs; ++r) ASSERT_EQ(f.run[r], g.run[r]);
    for (int e = 0; e < n.events; ++e)
      ASSERT_TRUE(f.event[e].rank == g.event[e].rank && f.event[e].signals == g.event[e].signals) << e;
    for (int s = 0; s < n.slots; ++s) {
      const hp::slot &a = f.slot[s], &b = g.slot[s];
      ASSERT_TRUE(a.rank == b.rank && a.tier == b.tier && a.offset == b.offset && a.bytes == b.bytes) << s;
    }
    hp::detail::owned_flow_scratch x(n);
    constexpr std::int64_t capacity[] = {1 << 12, 1 << 10};
    EXPECT_EQ(hp::check_flow(f, 1, capacity, 2, x), hp::flow_status{});
    const judged p(f), q(g);
    for (int t = 0; t < n.tasks; ++t) {
      ASSERT_EQ(p.schedule.order[t], q.schedule.order[t]);
      ASSERT_EQ(p.schedule.queue[t], q.schedule.queue[t]);
      ASSERT_EQ(p.line.start[t], q.line.start[t]);
    }
    EXPECT_EQ(p.bound, q.bound);
    EXPECT_EQ(p.simulated, q.simulated);
  }
}

TEST(Pattern, ACopyStandsBehindWhatTheFlowHas) {
  const auto build = [](auto& f) {
    hp::add_event(f, 0, 2);
    hp::add_slot(f, 0, 0, 0, 16);
    hp::add_task(f, hp::resource::copy_in, 0, 3, 9, 0);
    hp::add_signal(f, 1);
    hp::stamp(f, hp::place(f, pattern), 4);
  };
  hp::owned_taskflow f(hp::measure(build));
  build(f);
  hp::seal(f);
  EXPECT_EQ(f.size.tasks, 1 + size.tasks);
  EXPECT_EQ(f.run[1], 1);
  EXPECT_EQ(f.run[f.size.runs], f.size.tasks);
  EXPECT_EQ(f.signal[f.task[1].signal_begin] + f.task[1].first_event, 2) << "the first event behind the two";
  EXPECT_EQ(f.access[f.task[1].access_begin].slot + f.task[1].first_slot, 1);
  EXPECT_EQ(f.slot[1].offset, 64 + 4 * 192);
  EXPECT_EQ(f.task[1].item, 4);
  EXPECT_EQ(f.task[2].item, 5 * 4);
}

/// A pattern of copies of a pattern is the flow of all copies, but for the numbers that `stamp` counts on.
constexpr auto pair = [](auto& f) {
  const auto placed = hp::place(f, pattern);
  hp::stamp(f, placed, 0);
  hp::stamp(f, placed, 1);
};
constexpr auto pair_pattern = hp::build_pattern<hp::measure(pair)>(pair);

TEST(Pattern, MayHoldCopiesOfAnother) {
  const auto pairs = [](auto& f) {
    const auto placed = hp::place(f, pair_pattern);
    for (int c = 0; c < 3; ++c) hp::stamp(f, placed, c);
  };
  const copies other{6, false};
  hp::owned_taskflow f(hp::measure(pairs)), g(hp::measure(other));
  pairs(f);
  hp::seal(f);
  other(g);
  hp::seal(g);
  ASSERT_EQ(f.size.tasks, g.size.tasks);
  for (int t = 0; t < f.size.tasks; ++t) ASSERT_EQ(uses_of(f, t), uses_of(g, t)) << t;
  for (int s = 0; s < f.size.slots; ++s) ASSERT_EQ(f.slot[s].offset, g.slot[s].offset) << s;
  for (int e = 0; e < f.size.events; ++e) ASSERT_EQ(f.event[e].signals, g.event[e].signals) << e;
}

constexpr bool same_at_compile_time() {
  constexpr auto twice = [](auto& f) {
    const auto placed = hp::place(f, pattern);
    hp::stamp(f, placed, 0);
    hp::stamp(f, placed, 1, 2);
  };
  const auto f = hp::build_fixed<hp::measure(twice)>(twice);
  return f.size.tasks == 2 * size.tasks && f.task[size.tasks].duration == 7 &&
         f.task[size.tasks].first_event == size.events && f.task[size.tasks].first_slot == size.slots &&
         f.event[2 * size.events - 1].signals == 1;
}
static_assert(same_at_compile_time());

}  // namespace
