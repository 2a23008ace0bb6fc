// SPDX-License-Identifier: Apache-2.0
// Copies of a pattern against the same builder run once for each copy with every number shifted by hand.

#include <gtest/gtest.h>

#include <hyperparallel/taskflow/pattern.hpp>

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
    for (int c = 0; c < count; ++c) {
      if (stamped) {
        EXPECT_EQ(hp::stamp(f, pattern, c, c % 3), c * size.tasks);
      } else {
        block{c, c % 3}(f);
      }
    }
  }
};

TEST(Pattern, CopiesAreWhatTheBuilderWrites) {
  for (int count : {0, 1, 2, 7}) {
    const copies one{count, true}, other{count, false};
    const hp::taskflow_size n = hp::measure(one);
    ASSERT_EQ(n, hp::measure(other));
    hp::owned_taskflow f(n), g(n);
    one(f);
    hp::seal(f);
    other(g);
    hp::seal(g);
    ASSERT_EQ(f.size, n);
    ASSERT_EQ(g.size, n);
    for (int t = 0; t < n.tasks; ++t) {
      const hp::task &a = f.task[t], &b = g.task[t];
      ASSERT_TRUE(a.kind == b.kind && a.rank == b.rank && a.duration == b.duration && a.operation == b.operation) << t;
      ASSERT_TRUE(a.item == b.item && a.part == b.part) << t;
      ASSERT_TRUE(a.wait_begin == b.wait_begin && a.wait_end == b.wait_end) << t;
      ASSERT_TRUE(a.signal_begin == b.signal_begin && a.signal_end == b.signal_end) << t;
      ASSERT_TRUE(a.access_begin == b.access_begin && a.access_end == b.access_end) << t;
    }
    for (int r = 0; r <= n.runs; ++r) ASSERT_EQ(f.run[r], g.run[r]);
    for (int w = 0; w < n.waits; ++w)
      ASSERT_TRUE(f.wait[w].event == g.wait[w].event && f.wait[w].threshold == g.wait[w].threshold) << w;
    for (int s = 0; s < n.signals; ++s) ASSERT_EQ(f.signal[s], g.signal[s]);
    for (int a = 0; a < n.accesses; ++a) {
      const hp::access &u = f.access[a], &v = g.access[a];
      ASSERT_TRUE(u.slot == v.slot && u.begin == v.begin && u.end == v.end && u.mode == v.mode && u.step == v.step);
    }
    for (int e = 0; e < n.events; ++e)
      ASSERT_TRUE(f.event[e].rank == g.event[e].rank && f.event[e].signals == g.event[e].signals) << e;
    for (int s = 0; s < n.slots; ++s) {
      const hp::slot &a = f.slot[s], &b = g.slot[s];
      ASSERT_TRUE(a.rank == b.rank && a.tier == b.tier && a.offset == b.offset && a.bytes == b.bytes) << s;
    }
    hp::owned_flow_scratch x(n);
    constexpr std::int64_t capacity[] = {1 << 12, 1 << 10};
    EXPECT_EQ(hp::check_flow(f, 1, capacity, 2, x), hp::flow_status{});
  }
}

TEST(Pattern, ACopyStandsBehindWhatTheFlowHas) {
  const auto build = [](auto& f) {
    hp::add_event(f, 0, 2);
    hp::add_slot(f, 0, 0, 0, 16);
    hp::add_task(f, hp::resource::copy, 0, 3, 9, 0);
    hp::add_signal(f, 1);
    hp::stamp(f, pattern, 4);
  };
  hp::owned_taskflow f(hp::measure(build));
  build(f);
  hp::seal(f);
  EXPECT_EQ(f.size.tasks, 1 + size.tasks);
  EXPECT_EQ(f.run[1], 1);
  EXPECT_EQ(f.run[f.size.runs], f.size.tasks);
  EXPECT_EQ(f.signal[f.task[1].signal_begin], 2) << "the first event behind the two";
  EXPECT_EQ(f.access[f.task[1].access_begin].slot, 1);
  EXPECT_EQ(f.slot[1].offset, 64 + 4 * 192);
  EXPECT_EQ(f.task[1].item, 4);
  EXPECT_EQ(f.task[2].item, 5 * 4);
}

constexpr bool same_at_compile_time() {
  constexpr auto twice = [](auto& f) {
    hp::stamp(f, pattern, 0);
    hp::stamp(f, pattern, 1, 2);
  };
  const auto f = hp::build_fixed<hp::measure(twice)>(twice);
  return f.size.tasks == 2 * size.tasks && f.task[size.tasks].duration == 7 &&
         f.wait[size.waits].event == size.events && f.wait[size.waits].threshold == 1 &&
         f.event[2 * size.events - 1].signals == 1;
}
static_assert(same_at_compile_time());

}  // namespace
