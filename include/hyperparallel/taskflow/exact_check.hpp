// SPDX-License-Identifier: Apache-2.0
#pragma once
// The exact checker: safe or not, with neither false acceptance nor false refusal. For run time and tests; `verify` is
// the fast proof.
//
// Counters are monotone and waits do not consume, so what can run can still run later: one greedy run reaches
// everything that any interleaving reaches. Hence (1) all tasks complete in every interleaving iff one greedy run
// completes; (2) "a has ended before b begins" in every interleaving iff a greedy run that withholds a cannot reach b.
// It reads queues only, never `order`, and derives all conflicting pairs itself from the accesses.

#include <cstdint>

#include <hyperparallel/support/enum_text.hpp>
#include <hyperparallel/taskflow/scratch.hpp>
#include <hyperparallel/taskflow/storage.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class exact_code : unsigned char {
  safe,
  not_run_exactly_once,
  queue_of_another_class_or_rank,
  never_completes,
  conflict_is_not_ordered
};

/// `task` never begins, or begins although the earlier `other` has not ended; `event` or `slot` says on what.
struct exact_status {
  exact_code code = exact_code::safe;
  int task = -1, other = -1, event = -1, slot = -1;
  friend constexpr bool operator==(const exact_status&, const exact_status&) = default;
};

constexpr const char* to_text(exact_code c) {
  constexpr const char* texts[] = {"safe", "a task is not in exactly one place of one queue",
                                   "a task sits in a queue of another class or rank", "a task never begins",
                                   "two conflicting uses of a slot can meet or swap"};
  return detail::enum_text<exact_code::conflict_is_not_ordered>(texts, c);
}

namespace detail {

template <int Tasks, int Events, int AccessUses, int Slots, int Queues>
struct exact_scratch {
  scratch_array<int, Queues> next = {};           ///< queue -> place of its next task in queue_task
  scratch_array<int, Queues> blocked_after = {};  ///< chain of the queues that wait for one event
  scratch_array<int, Queues> ready = {};          ///< stack of queues to look at
  scratch_array<int, Events> count = {};
  scratch_array<int, Events> blocked = {};  ///< event -> first queue that waits for it, -1
  scratch_array<bool, Tasks> begun = {};
  scratch_array<int, Slots> slot_begin = {};  ///< uses by slot, in reference order
  scratch_array<int, Slots> slot_end = {};
  scratch_array<int, AccessUses> user = {};    ///< the task of a use
  scratch_array<int, AccessUses> access = {};  ///< and the access by which it uses the slot
};

template <taskflow_size Size, int Queues>
using fixed_exact_scratch = exact_scratch<Size.tasks, Size.events, access_room(Size), Size.slots, Queues>;
using dynamic_exact_scratch =
    exact_scratch<run_time_count, run_time_count, run_time_count, run_time_count, run_time_count>;

/// Runs every queue as far as it goes without ever executing `withheld` (-1: none). `x.begun[t]` tells which tasks can
/// begin, the withheld one included. Returns how many ran; `run(t)` is called for each, in an order that queues and
/// waits respect. Complexity: O(tasks + waits + signals), plus one look per signal at each queue that waits for the
/// event.
template <class Flow, class Schedule, class Scratch, class Run>
constexpr int run_greedily(const Flow& f, const Schedule& s, int withheld, Scratch& x, const Run& run) {
  const int queues = queue_count(s.machine);
  for (int e = 0; e < f.size.events; ++e) {
    x.count[e] = 0;
    x.blocked[e] = -1;
  }
  for (int t = 0; t < f.size.tasks; ++t) x.begun[t] = false;
  int waiting = 0, ran = 0;
  for (int q = queues - 1; q >= 0; --q) {
    x.next[q] = s.queue_begin[q];
    x.ready[waiting++] = q;
  }
  while (waiting > 0) {
    const int q = x.ready[--waiting];
    while (x.next[q] < s.queue_begin[q + 1]) {
      const int t = s.queue_task[x.next[q]];
      const int first_event = f.task[t].first_event;
      int missing = -1;
      for (int w = f.task[t].wait_begin; w < f.task[t].wait_end && missing < 0; ++w)
        if (x.count[f.wait[w].event + first_event] < f.wait[w].threshold) missing = f.wait[w].event + first_event;
      if (missing >= 0) {
        x.blocked_after[q] = x.blocked[missing];
        x.blocked[missing] = q;
        break;
      }
      x.begun[t] = true;
      if (t == withheld) break;
      ++x.next[q];
      ++ran;
      run(t);
      for (int g = f.task[t].signal_begin; g < f.task[t].signal_end; ++g) {
        const int e = f.signal[g] + first_event;
        ++x.count[e];
        for (int b = x.blocked[e]; b >= 0; b = x.blocked_after[b]) x.ready[waiting++] = b;
        x.blocked[e] = -1;
      }
    }
  }
  return ran;
}

/// Fills `s.order` from the queues, for plans whose queues were written by hand. False if they cannot all run.
template <class Flow, class Schedule, class Scratch>
constexpr bool derive_order(const Flow& f, Schedule& s, Scratch& x) {
  int position = 0;
  return run_greedily(f, s, -1, x, [&](int t) { s.order[position++] = t; }) == f.size.tasks;
}

/// Every task in exactly one place, in a queue of its class and rank.
template <class Flow, class Schedule, class Scratch>
constexpr exact_status check_placement(const Flow& f, const Schedule& s, Scratch& x) {
  for (int t = 0; t < f.size.tasks; ++t) x.begun[t] = false;
  const int queues = queue_count(s.machine);
  for (int q = 0; q < queues; ++q)
    for (int i = s.queue_begin[q]; i < s.queue_begin[q + 1]; ++i) {
      const int t = s.queue_task[i];
      if (t < 0 || t >= f.size.tasks || x.begun[t]) return {exact_code::not_run_exactly_once, t};
      x.begun[t] = true;
      const int first = first_queue(s.machine, f.task[t].rank, f.task[t].kind);
      if (q < first || q >= first + s.machine.queues[static_cast<int>(f.task[t].kind)])
        return {exact_code::queue_of_another_class_or_rank, t};
    }
  for (int t = 0; t < f.size.tasks; ++t)
    if (!x.begun[t]) return {exact_code::not_run_exactly_once, t};
  return {};
}

/// Every task in exactly one place, and one greedy run completes. `x.count` is left with the events' totals.
template <class Flow, class Schedule, class Scratch>
constexpr exact_status check_completion(const Flow& f, const Schedule& s, Scratch& x) {
  const exact_status placed = check_placement(f, s, x);
  if (placed.code != exact_code::safe) return placed;
  if (run_greedily(f, s, -1, x, [](int) {}) == f.size.tasks) return {};
  for (int q = 0;; ++q) {  // the first queue that is not done: what does not end there is at its head
    if (x.next[q] == s.queue_begin[q + 1]) continue;
    const int t = s.queue_task[x.next[q]];
    for (int w = f.task[t].wait_begin; w < f.task[t].wait_end; ++w) {
      const int e = f.wait[w].event + f.task[t].first_event;
      if (x.count[e] < f.wait[w].threshold) return {exact_code::never_completes, t, -1, e};
    }
  }
}

/// Uses by slot in reference order: user and access at [slot_begin .. slot_end).
template <class Flow, class Scratch>
constexpr void group_accesses(const Flow& f, Scratch& x) {
  for (int i = 0; i < f.size.slots; ++i) x.slot_end[i] = 0;
  for (int t = 0; t < f.size.tasks; ++t)
    for (int a = f.task[t].access_begin; a < f.task[t].access_end; ++a)
      ++x.slot_end[f.access[a].slot + f.task[t].first_slot];
  int begin = 0;
  for (int i = 0; i < f.size.slots; ++i) {
    const int members = x.slot_end[i];
    x.slot_begin[i] = x.slot_end[i] = begin;
    begin += members;
  }
  for (int t = 0; t < f.size.tasks; ++t)
    for (int a = f.task[t].access_begin; a < f.task[t].access_end; ++a) {
      const int use = x.slot_end[f.access[a].slot + f.task[t].first_slot]++;
      x.user[use] = t;
      x.access[use] = a;
    }
}

/// Whether task a's access u and task b's access v of one slot conflict: they overlap and one of them writes.
constexpr bool conflict(const task& a, const access& u, const task& b, const access& v) {
  const slot_interval i = interval_of(a, u), j = interval_of(b, v);
  return (u.mode == access_mode::write || v.mode == access_mode::write) && i.begin < j.end && j.begin < i.end &&
         i.begin < i.end && j.begin < j.end;
}

}  // namespace detail

/// Domain: indices inside the arrays, slots disjoint (`check_flow`). Complexity: O((tasks + waits + signals) · tasks
/// with conflicts + conflicting pairs).
template <class Flow, class Schedule, class Scratch>
constexpr exact_status check_exactly(const Flow& f, const Schedule& s, Scratch& x) {
  const exact_status completes = detail::check_completion(f, s, x);
  if (completes.code != exact_code::safe) return completes;
  detail::group_accesses(f, x);
  for (int a = 0; a < f.size.tasks; ++a) {
    bool withheld = false;
    for (int i = f.task[a].access_begin; i < f.task[a].access_end; ++i) {
      const int slot = f.access[i].slot + f.task[a].first_slot;
      for (int use = x.slot_end[slot] - 1; use >= x.slot_begin[slot] && x.user[use] > a; --use) {
        const int b = x.user[use];
        if (!detail::conflict(f.task[a], f.access[i], f.task[b], f.access[x.access[use]])) continue;
        if (!withheld) detail::run_greedily(f, s, a, x, [](int) {});
        withheld = true;
        if (x.begun[b]) return {exact_code::conflict_is_not_ordered, b, a, -1, slot};
      }
    }
  }
  return {};
}

}}  // namespace hyperparallel::v0_2
