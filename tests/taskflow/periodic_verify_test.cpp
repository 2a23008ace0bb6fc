// SPDX-License-Identifier: Apache-2.0
// The proof for all n against the exact checker on n = 1 .. 8 copies whose slots and counters are the banked ones, and
// mutants of a real period.

#include <gtest/gtest.h>

#include <algorithm>

#include <hyperparallel/taskflow/exact_check.hpp>
#include <hyperparallel/taskflow/periodic_verify.hpp>

#include "periods.hpp"

namespace {

using namespace taskflow_test;

bool exactly_safe(const planned_period& p, int copies, hp::event_form form = hp::event_form::banked) {
  const hp::periodic_expansion e(p.period, p.schedule, copies, form);
  hp::owned_exact_scratch x(e.flow.size, small_queues);
  return hp::check_exactly(e.flow, e.schedule, x).code == hp::exact_code::safe;
}

bool exactly_safe_up_to(const planned_period& p, int copies) {
  for (int n = 1; n <= copies; ++n)
    if (!exactly_safe(p, n)) return false;
  return true;
}

bool locally_safe(const planned_period& p, int copies) {
  const hp::periodic_expansion e(p.period, p.schedule, copies);
  hp::owned_verify_scratch x(e.flow.size, small_queues);
  return hp::verify(e.flow, e.schedule, x).code == hp::verify_code::ok;
}

TEST(PeriodicVerify, NeverAcceptsWhatIsUnsafe) {
  std::mt19937 random(11);
  int accepted = 0, refused_unsafe = 0, refused_safe = 0, wraps = 0, wraps_unsafe = 0, beyond = 0;
  const int cases = random_cases(60000);
  for (int i = 0; i < cases; ++i) {
    loose_period loose = random_period(random, 1 + below(random, 8), i % 2 == 0 ? 0 : 6);
    if (i % 4 < 2) add_payloads(loose);
    const planned_period p(loose, 0, static_cast<hp::priority>(below(random, 2)));
    const hp::periodic_status proof = hp::verify_period(p.period, p.schedule);
    ASSERT_NE(proof.code, hp::periodic_code::window_is_too_small);
    const bool refused = proof.code == hp::periodic_code::copies_are_unsafe;
    const int window = hp::proof_copies(p.period);
    for (int n = 1; n <= 8; ++n) {
      const bool local = locally_safe(p, n);
      // Within the window the two are one; beyond, the induction may prove what the local rule cannot.
      if (n <= window && !refused) {
        ASSERT_TRUE(local) << "case " << i << ", " << n;
      }
      if (n >= window && refused) {
        ASSERT_FALSE(local) << "case " << i << ", " << n;
      }
      if (!refused) {
        ASSERT_TRUE(exactly_safe(p, n, hp::event_form::own)) << "case " << i << ", " << n;
        beyond += local ? 0 : 1;
      }
    }
    const bool safe = exactly_safe_up_to(p, 8);
    if (proof.code == hp::periodic_code::ok) {
      ASSERT_TRUE(safe) << "case " << i;
      ++accepted;
    } else {
      ++(safe ? refused_safe : refused_unsafe);
      if (proof.code != hp::periodic_code::copies_are_unsafe) {
        ++wraps;
        wraps_unsafe += safe ? 0 : 1;
      }
    }
  }
  RecordProperty("proved", accepted);
  RecordProperty("refused_and_unsafe", refused_unsafe);
  RecordProperty("refused_and_safe", refused_safe);
  RecordProperty("wraps_refused", wraps);
  RecordProperty("wraps_refused_and_unsafe", wraps_unsafe);
  RecordProperty("proved_where_the_local_rule_refuses", beyond);
  EXPECT_GT(accepted, cases / 5);
  EXPECT_GT(refused_unsafe, cases / 10);
  EXPECT_GT(wraps_unsafe, cases / 200);
}

/// Slot 0 has the banks 0, 1, 2, slot 1 the banks 1, 2: the same bytes are used again after 6 copies, further apart
/// than a window of the most banks looks.
struct overlapping_banks {
  int second = 2;  ///< banks of slot 1; 1: it is an ordinary slot

  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int a = hp::add_event(f, 0), b = hp::add_event(f, 0);
    const int s = hp::add_banked_slot(f, 0, 0, 0, 64, 3, 64);
    if constexpr (Flow::stores) f.banks[s + 1] = second;
    hp::bank_events(f, 3);
    hp::add_task(f, hp::resource::aic, 0, 10, 0, 0);
    hp::add_wait(f, hp::carried(b, 1));
    hp::add_signal(f, a);
    hp::add_access(f, s + 1, 0, 3, hp::access_mode::write);
    hp::add_task(f, hp::resource::aiv, 0, 17, 1, 0);
    hp::add_wait(f, hp::carried(a, 1));
    hp::add_signal(f, b);
    hp::add_access(f, s, 1, 4, hp::access_mode::write);
  }
};

TEST(PeriodicVerify, BankGroupsThatOverlapAreRefused) {
  for (const int second : {1, 2}) {
    const planned_period p(overlapping_banks{second});
    EXPECT_EQ(hp::check_period(p.period).code, hp::period_code::bank_groups_overlap);
    EXPECT_EQ(hp::verify_period(p.period, p.schedule).code, hp::periodic_code::period_is_refused);
  }
  EXPECT_FALSE(exactly_safe_up_to(planned_period(overlapping_banks{2}), 8));
}

/// Banks and the slots that accesses name as they fall, overlapping groups and single banks of a group among them.
TEST(PeriodicVerify, WhateverTheBanksNeverAcceptsWhatIsUnsafe) {
  std::mt19937 random(23);
  int refused_groups = 0, unsafe_groups = 0, accepted = 0;
  const int cases = random_cases(30000);
  for (int i = 0; i < cases; ++i) {
    planned_period p(random_period(random, 1 + below(random, 4), 0));
    hp::owned_period& period = p.period;
    const int slots = period.size.slots;
    for (int s = 0; s < slots; ++s)
      if (below(random, 2) == 0) period.banks[s] = below(random, 1 + std::min(3, slots - s));
    for (int a = 0; a < period.size.accesses; ++a)
      if (below(random, 2) == 0) period.access[a].slot = hp::carried(below(random, slots), below(random, 2));
    const hp::period_status own = hp::check_period(period);
    const bool proved = hp::verify_period(period, p.schedule).code == hp::periodic_code::ok;
    const bool safe = exactly_safe_up_to(p, 9);
    ASSERT_TRUE(safe || !proved) << "case " << i;
    accepted += proved;
    if (own.code == hp::period_code::ok) continue;
    ASSERT_EQ(own.code, hp::period_code::bank_groups_overlap);
    ASSERT_FALSE(proved);
    ++refused_groups;
    unsafe_groups += !safe;
  }
  EXPECT_GT(accepted, cases / 20);
  EXPECT_GT(refused_groups, cases / 10);
  EXPECT_GT(unsafe_groups, cases / 50);
}

/// Verdict on the layer as it is, or broken.
hp::periodic_status verdict(const prefetched_layer& layer, bool safe) {
  const planned_period p(layer);
  EXPECT_EQ(exactly_safe_up_to(p, 8), safe);
  return hp::verify_period(p.period, p.schedule);
}

TEST(PeriodicVerify, NamesWhatIsMissing) {
  using enum hp::periodic_code;
  EXPECT_EQ(verdict({}, true), hp::periodic_status{});
  const hp::periodic_status one_bank = verdict({1}, false);
  EXPECT_EQ(one_bank.code, copies_are_unsafe);
  EXPECT_EQ(one_bank.found, hp::verify_code::conflict_is_not_ordered);
  EXPECT_TRUE(one_bank.task == 0 && one_bank.other >= 1 && one_bank.slot == 0 && one_bank.distance == 1)
      << "the prefetch overwrites what a tile of the copy before reads";
  const hp::periodic_status unguarded = verdict({2, 2, false}, false);
  EXPECT_EQ(unguarded.code, copies_are_unsafe);
  EXPECT_TRUE(unguarded.task == 0 && unguarded.slot == 0 && unguarded.distance == 2);
  const hp::periodic_status untaken = verdict({2, 2, true, false}, false);
  EXPECT_EQ(untaken.code, copies_are_unsafe);
  EXPECT_TRUE(untaken.task >= 1 && untaken.task <= 4 && untaken.distance == 1);
  const hp::periodic_status one_counter = verdict({2, 1}, true);
  EXPECT_EQ(one_counter.code, carried_further_than_banked);
  EXPECT_TRUE(one_counter.task == 0 && one_counter.event == 1 && one_counter.distance == 2);
}

/// Two tiles on two queues signal `tiled`; a copier waits for both. With one counter a tile of the next copy may signal
/// in place of the slower tile of this one.
struct unbanked {
  int event_banks;
  bool waits;  ///< a tile waits until the copier of the copy before has run
  bool one_queue = false;

  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int tiled = hp::add_event(f, 0), copied = hp::add_event(f, 0);
    hp::bank_events(f, event_banks);
    for (int tile = 0; tile < 2; ++tile) {
      hp::add_task(f, hp::resource::aic, 0, 10, 0, tile);
      if (waits) hp::add_wait(f, hp::carried(copied, event_banks));
      hp::add_signal(f, tiled);
      hp::add_access(f, tile, 0, 8, hp::access_mode::write);
      if (tile == 0) {
        hp::add_banked_slot(f, 0, 0, 0, 8, 1, 0);
        hp::add_banked_slot(f, 0, 0, 8, 8, 1, 0);
      }
    }
    hp::add_task(f, hp::resource::link, 0, 5, 1, 0);
    hp::add_wait(f, tiled);
    hp::add_signal(f, copied);
  }
};

TEST(PeriodicVerify, ACounterIsNotSignalledAgainBeforeItsWaits) {
  const auto judge = [](const unbanked& build, const hp::machine_shape& machine) {
    const planned_period p(build, 0, hp::priority::upward_rank, machine);
    return hp::verify_period(p.period, p.schedule);
  };
  EXPECT_EQ(judge({1, true}, small_machine), hp::periodic_status{});
  EXPECT_EQ(judge({2, true}, small_machine), hp::periodic_status{});
  for (int banks : {1, 2, 3}) {
    const hp::periodic_status s = judge({banks, false}, small_machine);
    EXPECT_EQ(s.code, hp::periodic_code::wait_meets_the_next_generation);
    EXPECT_TRUE(s.task <= 1 && s.other == 2 && s.event == 0 && s.distance == banks);
    // With both tiles in one queue the counter is its progress word.
    EXPECT_EQ(judge({banks, false}, {1, {1, 0, 1, 0, 0}}), hp::periodic_status{});
  }
}

TEST(PeriodicVerify, RefusesFewerCopiesThanProveAll) {
  const planned_period p(prefetched_layer{});
  const hp::taskflow_size size = hp::unrolled_room(p.period, 3);
  hp::owned_taskflow f(size);
  hp::owned_schedule e(size.tasks, small_queues);
  hp::owned_verify_scratch x(size, small_queues);
  hp::owned_wrap_scratch z(p.period.size.events, size.signals);
  EXPECT_EQ(hp::proof_copies(p.period), 3);
  EXPECT_EQ(hp::verify_period(p.period, p.schedule, 2, f, e, x, z).code, hp::periodic_code::window_is_too_small);
  EXPECT_EQ(hp::verify_period(p.period, p.schedule, 3, f, e, x, z), hp::periodic_status{});
}

TEST(PeriodicVerify, AScheduleChangedByHandIsRefused) {
  std::mt19937 random(17);
  int refused = 0, unsafe = 0;
  const int cases = random_cases(20000);
  for (int i = 0; i < cases; ++i) {
    planned_period p(random_period(random, 3 + below(random, 6), 0));
    hp::owned_periodic_schedule& s = p.schedule;
    // Two neighbours of the order change places; queues are filled anew.
    const int place = below(random, s.task_count - 1);
    std::swap(s.order[place], s.order[place + 1]);
    hp::owned_freeze_scratch z(s.task_count, p.period.size.events, small_queues);
    hp::detail::fill_periodic_queues(s, z.next);
    const bool safe = exactly_safe_up_to(p, 6);
    const bool proved = hp::verify_period(p.period, s).code == hp::periodic_code::ok;
    ASSERT_TRUE(safe || !proved) << i;
    refused += proved ? 0 : 1;
    unsafe += safe ? 0 : 1;
  }
  EXPECT_GE(refused, unsafe);
  EXPECT_GT(unsafe, cases / 50);
}

/// Seven tasks on three queues, of four stages. All waits are within a copy.
struct four_stages {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int e = hp::add_event(f, 0), g = hp::add_event(f, 0), b = hp::add_event(f, 0);
    const auto add = [&](hp::resource kind, int signals, int waits) {
      hp::add_task(f, kind, 0, 10, 0, 0);
      if (waits >= 0) hp::add_wait(f, waits);
      if (signals >= 0) hp::add_signal(f, signals);
    };
    add(hp::resource::aic, -1, -1);
    add(hp::resource::aic, e, -1);
    add(hp::resource::aiv, -1, e);
    add(hp::resource::aiv, g, -1);
    add(hp::resource::link, -1, g);
    add(hp::resource::link, b, -1);
    add(hp::resource::aic, -1, b);
  }
};

// Tasks whose copies are further apart than the window, in one iteration of one queue: no copy of the window shows in which
// order they stand.
TEST(PeriodicVerify, AQueueInAnotherOrderThanThePlanIsRefused) {
  planned_period p(four_stages{}, 0, hp::priority::reference_order, {1, {1, 1, 1, 0, 0}});
  hp::owned_periodic_schedule& s = p.schedule;
  constexpr int stages[] = {0, 1, 1, 2, 2, 3, 3};
  s.stages = 4;
  for (int t = 0; t < 7; ++t) {
    s.order[t] = t;
    s.stage[t] = stages[t];
  }
  hp::owned_freeze_scratch z(s.task_count, p.period.size.events, small_queues);
  hp::detail::fill_periodic_queues(s, z.next);
  EXPECT_EQ(hp::proof_copies(p.period), 2);
  EXPECT_EQ(hp::verify_period(p.period, s), hp::periodic_status{});
  EXPECT_TRUE(exactly_safe_up_to(p, 6));
  // The last task goes to the front of its queue.
  s.queue_task[0] = 6;
  s.queue_task[1] = 0;
  s.queue_task[2] = 1;
  EXPECT_TRUE(exactly_safe_up_to(p, 2));
  EXPECT_FALSE(exactly_safe(p, 3));
  const hp::periodic_status found = hp::verify_period(p.period, s);
  EXPECT_EQ(found.code, hp::periodic_code::queue_disagrees_with_order);
  EXPECT_EQ(found.task, 0);
}

constexpr auto layer = hp::build_period<hp::measure(prefetched_layer{})>(prefetched_layer{});
constexpr auto schedule = hp::schedule_period<layer, small_queues>(small_machine);
static_assert(hp::verify_period<layer>(schedule) == hp::periodic_status{});
constexpr prefetched_layer without_guard{2, 2, false};
constexpr auto unguarded = hp::build_period<hp::measure(without_guard)>(without_guard);
static_assert(hp::verify_period<unguarded>(hp::schedule_period<unguarded, small_queues>(small_machine)).slot == 0);

}  // namespace
