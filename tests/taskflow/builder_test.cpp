// SPDX-License-Identifier: Apache-2.0
// A draft of several tiles against the same tasks written one call at a time.

#include <gtest/gtest.h>

#include "flows.hpp"

namespace {

namespace hp = hyperparallel;

constexpr hp::access_mode read = hp::access_mode::read, write = hp::access_mode::write;

/// A writer, then `tiles` tasks that wait for it, signal two events and write a tile each; by draft or call by call.
struct stage {
  bool by_draft = true;
  int tiles = 1;

  template <class Flow>
  constexpr void operator()(Flow& f) const {
    for (int e = 0; e < 3; ++e) hp::add_event(f, 0);
    for (int s = 0; s < 2; ++s) hp::add_slot(f, 0, 0, 64 * s, 64);
    hp::add_task(f, hp::resource::link, 0, 7, 0, 0);
    hp::add_signal(f, 0);
    hp::add_access(f, 0, 0, 64, write);
    if (by_draft) {
      hp::task_draft d;
      d.task.kind = hp::resource::aic;
      d.task.duration = 5;
      d.task.operation = 1;
      d.task.item = 40;
      d.waits = 1;
      d.wait[0].event = 0;
      d.signals = d.accesses = 2;
      d.signal[0] = 1;
      d.signal[1] = 2;
      d.access[0] = {0, 0, 64, read};
      d.access[1] = {1, 3, 4, write, 1};
      hp::append(f, d, tiles);
      return;
    }
    for (int i = 0; i < tiles; ++i) {
      hp::add_task(f, hp::resource::aic, 0, 5, 1, 40 + i);
      hp::add_wait(f, 0);
      hp::add_signal(f, 1);
      hp::add_signal(f, 2);
      hp::add_access(f, 0, 0, 64, read);
      hp::add_access(f, 1, 3 + i, 4 + i, write);
    }
  }
};

TEST(Builder, ADraftOfTilesIsTheTasksCallByCall) {
  for (int tiles = 1; tiles <= 8; ++tiles) {
    const stage one{true, tiles}, other{false, tiles};
    hp::owned_taskflow f(hp::measure(one)), g(hp::measure(other));
    one(f);
    hp::seal(f);
    other(g);
    hp::seal(g);
    EXPECT_EQ(f.size, hp::measure(one));
    EXPECT_EQ(f.size.waits, 1) << "tiles share their waits,";
    EXPECT_EQ(f.size.signals, 1 + 2) << "signals";
    EXPECT_EQ(f.size.accesses, 1 + 2) << "and accesses";
    ASSERT_EQ(f.size.tasks, g.size.tasks);
    EXPECT_EQ(f.size.signal_uses, g.size.signal_uses);
    EXPECT_EQ(f.size.access_uses, g.size.access_uses);
    for (int e = 0; e < 3; ++e) EXPECT_EQ(f.event[e].signals, g.event[e].signals);
    for (int t = 0; t < f.size.tasks; ++t) {
      const hp::task &a = f.task[t], &b = g.task[t];
      EXPECT_TRUE(a.kind == b.kind && a.rank == b.rank && a.duration == b.duration && a.operation == b.operation);
      EXPECT_EQ(a.item, b.item);
      ASSERT_EQ(a.wait_end - a.wait_begin, b.wait_end - b.wait_begin);
      ASSERT_EQ(a.signal_end - a.signal_begin, b.signal_end - b.signal_begin);
      ASSERT_EQ(a.access_end - a.access_begin, b.access_end - b.access_begin);
      for (int w = 0; w < a.wait_end - a.wait_begin; ++w) {
        EXPECT_EQ(f.wait[a.wait_begin + w].event, g.wait[b.wait_begin + w].event);
        EXPECT_EQ(f.wait[a.wait_begin + w].threshold, g.wait[b.wait_begin + w].threshold);
      }
      for (int s = 0; s < a.signal_end - a.signal_begin; ++s)
        EXPECT_EQ(f.signal[a.signal_begin + s], g.signal[b.signal_begin + s]);
      for (int i = 0; i < a.access_end - a.access_begin; ++i) {
        const hp::access &u = f.access[a.access_begin + i], &v = g.access[b.access_begin + i];
        EXPECT_TRUE(u.slot == v.slot && hp::interval_of(a, u) == hp::interval_of(b, v) && u.mode == v.mode);
      }
    }
  }
}

}  // namespace
