// SPDX-License-Identifier: Apache-2.0
// Unrolled flows against the same copies written task by task with every number shifted by hand.

#include <gtest/gtest.h>

#include <hyperparallel/taskflow/periodic_unroll.hpp>

#include "periods.hpp"

namespace {

using namespace taskflow_test;

/// All copies of `p` as a flow would be written by hand.
struct by_hand {
  const loose_period& p;
  int copies;
  bool banked;

  template <class Flow>
  void operator()(Flow& f) const {
    const int counters = banked ? std::min(p.event_banks, copies) : copies;
    std::vector<int> totals(static_cast<std::size_t>(p.events));
    for (const loose_task& k : p.task)
      for (const int e : k.signals) ++totals[static_cast<std::size_t>(e)];
    hp::add_event(f, 0, p.events * counters);
    hp::add_slot(f, 0, 0, 0, 64, p.first_bank(static_cast<int>(p.banks.size())), 64);
    for (int c = 0; c < copies; ++c) {
      int item = 0;
      for (const loose_task& k : p.task) {
        hp::add_task(f, k.kind, k.rank, k.duration, 0, item++);
        for (const hp::wait& w : k.waits) {
          const int from = c - hp::distance_of(w.event), e = hp::own_number(w.event);
          if (from < 0) continue;
          const int total = totals[static_cast<std::size_t>(e)];
          hp::add_wait(f, from % counters * p.events + e,
                       (w.threshold == hp::all_signals ? total : w.threshold) + (banked ? from / counters * total : 0));
        }
        for (const int e : k.signals) hp::add_signal(f, c % counters * p.events + e);
        for (const hp::access& a : k.accesses) {
          const int named = hp::own_number(a.slot), banks = p.banks[static_cast<std::size_t>(named)];
          hp::add_access(f, p.first_bank(named) + (c - hp::distance_of(a.slot) + 6 * banks) % banks, a.begin, a.end,
                         a.mode);
        }
      }
    }
  }
};

TEST(PeriodicUnroll, IsWhatOneWouldWrite) {
  std::mt19937 random(23);
  for (int i = 0, cases = random_cases(3000); i < cases; ++i) {
    const loose_period loose = random_period(random, 1 + below(random, 8), 20);
    const sealed_period p(loose);
    ASSERT_EQ(hp::check_period(p), hp::period_status{});
    for (int copies : {0, 1, 2, 3, 6})
      for (const bool banked : {false, true}) {
        const by_hand build{loose, copies, banked};
        hp::owned_taskflow f(hp::unrolled_room(p, copies)), g(hp::measure(build));
        hp::unroll(f, p, copies, banked ? hp::event_form::banked : hp::event_form::own);
        build(g);
        hp::seal(g);
        ASSERT_EQ(f.size, g.size) << i;
        for (int t = 0; t < f.size.tasks; ++t) {
          const hp::task &a = f.task[t], &b = g.task[t];
          ASSERT_TRUE(a.kind == b.kind && a.duration == b.duration && a.item == b.item && a.first_event == 0);
          ASSERT_TRUE(a.wait_begin == b.wait_begin && a.wait_end == b.wait_end) << t;
          ASSERT_TRUE(a.signal_begin == b.signal_begin && a.signal_end == b.signal_end) << t;
          ASSERT_TRUE(a.access_begin == b.access_begin && a.access_end == b.access_end) << t;
        }
        for (int w = 0; w < f.size.waits; ++w)
          ASSERT_TRUE(f.wait[w].event == g.wait[w].event && f.wait[w].threshold == g.wait[w].threshold) << w;
        for (int s = 0; s < f.size.signals; ++s) ASSERT_EQ(f.signal[s], g.signal[s]);
        for (int a = 0; a < f.size.accesses; ++a) ASSERT_EQ(f.access[a].slot, g.access[a].slot);
        for (int e = 0; e < f.size.events; ++e) ASSERT_EQ(f.event[e].signals, g.event[e].signals);
        constexpr std::int64_t capacity[] = {1 << 20};
        hp::owned_flow_scratch x(f.size);
        ASSERT_EQ(hp::check_flow(f, 1, capacity, 1, x), hp::flow_status{});
      }
  }
}

/// A period whose inner part is stamped: its runs share their lists, and each copy of the period has its own.
struct stamped {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const auto placed = hp::place(f, inner);
    for (int c = 0; c < 3; ++c) hp::stamp(f, placed, c);
    hp::add_task(f, hp::resource::link, 0, 4, 1, 0);
    for (int c = 0; c < 3; ++c) hp::add_wait(f, hp::carried(c));
  }
  static constexpr auto one = [](auto& f) {
    hp::add_event(f, 0);
    hp::add_slot(f, 0, 0, 0, 64);
    hp::task_draft d;
    d.signals = d.accesses = 1;
    d.access[0] = {0, 0, 4, hp::access_mode::write, 4};
    hp::append(f, d, 2);
  };
  static constexpr auto inner = hp::build_pattern<hp::measure(one)>(one);
};

constexpr auto outer = hp::build_period<hp::measure(stamped{})>(stamped{});
constexpr auto unrolled(int copies) {
  hp::fixed_taskflow<hp::unrolled_room(outer, 4)> all;
  hp::unroll(all, outer, copies);
  return all;
}

TEST(PeriodicUnroll, CopiesOfAPatternInside) {
  constexpr auto f = unrolled(4);
  static_assert(f.size.tasks == 28 && f.size.runs == 16 && f.size.events == 12 && f.size.slots == 3);
  static_assert(f.size.signals == 12 && f.size.signal_uses == 24 && f.size.waits == 9);
  hp::owned_flow_scratch x(f.size);
  constexpr std::int64_t capacity[] = {1 << 20};
  EXPECT_EQ(hp::check_flow(f, 1, capacity, 1, x), hp::flow_status{});
}

}  // namespace
