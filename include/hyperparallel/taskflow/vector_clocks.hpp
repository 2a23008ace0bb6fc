// SPDX-License-Identifier: Apache-2.0
#pragma once
// Happens-before by vector clocks over the queues: the checker for plans too large for `check_exactly`.
//
// A task's clock counts, for each queue, the tasks that have ended before it ends, whatever the interleaving. It is the
// join of the clock of the task before it in its queue and of the clocks of the signallers that its waits imply: all of
// an event's for its total; for less, where one queue signals, the first ones, whose clocks the last of them holds. A
// partial threshold over several queues implies no certain signaller, so such a plan is left undecided.
//
// Law: where it decides, it agrees with `check_exactly`: then every wait is a conjunction of ends, and "a has ended
// before b begins" in every interleaving iff a path of queue steps and waits leads from a to b. Like it, the checker
// reads queues only, never `order`, and derives slot versions itself from the accesses.
// Source: Mattern, Virtual time and global states of distributed systems, 1989.

#include <hyperparallel/taskflow/exact_check.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The verdict where `decided`; else its `task` and `event` name a wait for a part of what several queues signal.
struct clock_status {
  bool decided = true;
  exact_status verdict{};
  friend constexpr bool operator==(const clock_status&, const clock_status&) = default;
};

namespace detail {

template <int Tasks, int Events, int SignalUses, int AccessUses, int Slots, int Queues, int TaskClocks, int EventClocks>
struct clock_scratch {
  exact_scratch<Tasks, Events, AccessUses, Slots, Queues> run{};  ///< of the greedy runs
  scratch_array<int, Tasks> queue = {};                           ///< task -> its queue
  scratch_array<int, Tasks> place = {};                           ///< task -> how many tasks of the queue precede it
  scratch_array<int, Events> total = {};                          ///< of its signals
  scratch_array<int, Events> signal_queue = {};                   ///< the one queue of all signallers, -1 for several
  scratch_array<int, Events> signal_begin = {};                   ///< where its signallers stand
  scratch_array<int, SignalUses> signaller = {};                  ///< tasks by event, in the order of a run
  scratch_array<int, TaskClocks> clock = {};         ///< [task][queue]: tasks that have ended when the task ends
  scratch_array<int, EventClocks> event_clock = {};  ///< [event][queue]: the join over its signallers so far
};

template <taskflow_size Size, int Queues>
using fixed_clock_scratch = clock_scratch<Size.tasks, Size.events, signal_room(Size), access_room(Size), Size.slots,
                                          Queues, Size.tasks * Queues, Size.events * Queues>;
using dynamic_clock_scratch = clock_scratch<run_time_count, run_time_count, run_time_count, run_time_count,
                                            run_time_count, run_time_count, run_time_count, run_time_count>;

/// Queues and places of all tasks, totals and signalling queues of all events, after a complete greedy run.
template <class Flow, class Schedule, class Scratch>
constexpr void place_signals(const Flow& f, const Schedule& s, Scratch& x) {
  for (int q = 0, queues = queue_count(s.machine); q < queues; ++q)
    for (int i = s.queue_begin[q]; i < s.queue_begin[q + 1]; ++i) {
      x.queue[s.queue_task[i]] = q;
      x.place[s.queue_task[i]] = i - s.queue_begin[q];
    }
  int begin = 0;
  for (int e = 0; e < f.size.events; ++e) {
    x.total[e] = x.run.count[e];
    x.signal_begin[e] = begin;
    x.signal_queue[e] = -2;  // of nobody
    begin += x.total[e];
  }
  for (int t = 0; t < f.size.tasks; ++t)
    for (int g = f.task[t].signal_begin; g < f.task[t].signal_end; ++g) {
      int& q = x.signal_queue[f.signal[g] + f.task[t].first_event];
      q = q == -2 || q == x.queue[t] ? x.queue[t] : -1;
    }
}

/// A wait that vector clocks cannot express, if there is one.
template <class Flow, class Scratch>
constexpr clock_status find_undecided(const Flow& f, const Scratch& x) {
  for (int t = 0; t < f.size.tasks; ++t)
    for (int w = f.task[t].wait_begin; w < f.task[t].wait_end; ++w) {
      const int e = f.wait[w].event + f.task[t].first_event;
      if (f.wait[w].threshold >= 1 && f.wait[w].threshold < x.total[e] && x.signal_queue[e] == -1)
        return {false, {exact_code::safe, t, -1, e}};
    }
  return {};
}

/// into[q] = max(into[q], from[from_row + q]) of row `row`.
template <class Into, class From>
constexpr void join_clocks(Into& into, int row, const From& from, int from_row, int queues) {
  for (int q = 0; q < queues; ++q)
    if (into[row + q] < from[from_row + q]) into[row + q] = from[from_row + q];
}

/// The clock of `t`, whose waits hold in the run that calls this in its order, with `t` itself not counted.
template <class Flow, class Schedule, class Scratch>
constexpr void begin_clock(const Flow& f, const Schedule& s, int t, int queues, Scratch& x) {
  const int own = t * queues, q = x.queue[t], place = x.place[t];
  for (int i = 0; i < queues; ++i) x.clock[own + i] = 0;
  if (place > 0) join_clocks(x.clock, own, x.clock, s.queue_task[s.queue_begin[q] + place - 1] * queues, queues);
  for (int w = f.task[t].wait_begin; w < f.task[t].wait_end; ++w) {
    const int e = f.wait[w].event + f.task[t].first_event, threshold = f.wait[w].threshold;
    if (threshold < 1) continue;
    if (threshold == x.total[e]) {
      join_clocks(x.clock, own, x.event_clock, e * queues, queues);
    } else {
      join_clocks(x.clock, own, x.clock, x.signaller[x.signal_begin[e] + threshold - 1] * queues, queues);
    }
  }
}

/// Counts `t` in its own clock and in those of the events that it signals.
template <class Flow, class Scratch>
constexpr void end_clock(const Flow& f, int t, int queues, Scratch& x) {
  x.clock[t * queues + x.queue[t]] = x.place[t] + 1;
  for (int g = f.task[t].signal_begin, sent = 0; g < f.task[t].signal_end; ++g) {
    const int e = f.signal[g] + f.task[t].first_event;
    sent = 0;  // of one task's signals to one event, the run has counted none yet
    for (int h = f.task[t].signal_begin; h < g; ++h) sent += f.signal[h] == f.signal[g];
    x.signaller[x.signal_begin[e] + x.run.count[e] + sent] = t;
    join_clocks(x.event_clock, e * queues, x.clock, t * queues, queues);
  }
}

/// Back through the history of each slot that `t` uses until a writer covers the range: whatever overlaps the range
/// before it conflicts with that writer too. The first use that `t` does not certainly follow, or safe.
template <class Flow, class Scratch>
constexpr exact_status find_unordered(const Flow& f, int t, int queues, const Scratch& x) {
  for (int a = f.task[t].access_begin; a < f.task[t].access_end; ++a) {
    const int slot = f.access[a].slot + f.task[t].first_slot;
    const slot_interval u = interval_of(f.task[t], f.access[a]);
    int use = x.run.slot_end[slot] - 1;
    while (use >= x.run.slot_begin[slot] && x.run.user[use] >= t) --use;
    for (; use >= x.run.slot_begin[slot]; --use) {
      const int other = x.run.user[use];
      const access& earlier = f.access[x.run.access[use]];
      if (!conflict(f.task[other], earlier, f.task[t], f.access[a])) continue;
      if (x.clock[t * queues + x.queue[other]] <= x.place[other])
        return {exact_code::conflict_is_not_ordered, t, other, -1, slot};
      const slot_interval v = interval_of(f.task[other], earlier);
      if (earlier.mode == access_mode::write && v.begin <= u.begin && v.end >= u.end) break;
    }
  }
  return {};
}

}  // namespace detail

/// Domain: indices inside the arrays, slots disjoint (`check_flow`); tasks · queues and events · queues fit an int.
/// Complexity: O((tasks + waits + signals) · queues) time and O((tasks + events) · queues) memory, and for each access
/// the history of its slot back to a covering writer.
template <class Flow, class Schedule, class Scratch>
constexpr clock_status check_by_clocks(const Flow& f, const Schedule& s, Scratch& x) {
  const exact_status completes = detail::check_completion(f, s, x.run);
  if (completes.code != exact_code::safe) return {true, completes};
  detail::place_signals(f, s, x);
  const clock_status undecided = detail::find_undecided(f, x);
  if (!undecided.decided) return undecided;
  detail::group_accesses(f, x.run);
  const int queues = queue_count(s.machine);
  for (int i = 0; i < f.size.events * queues; ++i) x.event_clock[i] = 0;
  exact_status found{};
  detail::run_greedily(f, s, -1, x.run, [&](int t) {
    detail::begin_clock(f, s, t, queues, x);
    if (found.code == exact_code::safe) found = detail::find_unordered(f, t, queues, x);
    detail::end_clock(f, t, queues, x);
  });
  return {true, found};
}

}}  // namespace hyperparallel::v0_2
