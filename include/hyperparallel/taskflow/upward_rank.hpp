// SPDX-License-Identifier: Apache-2.0
#pragma once
// Upward ranks: the longest chain of durations and synchronisation hops from a task's start to the end of the flow.
//
//   rank(t) = duration(t) + max over signalled events of max over the tasks waiting for it of (rank + hop)
//
// A wait below an event's total counts only the signallers it needs: the first `threshold` in reference order, which is
// also the order in which one queue must run them, so along such an event a later signaller is a successor of an
// earlier one. Law: a task's rank is at least that of everything that has to wait for it, so descending rank is a
// topological order.

#include <cstdint>

#include <hyperparallel/taskflow/scratch.hpp>
#include <hyperparallel/taskflow/storage.hpp>
#include <hyperparallel/taskflow/tile_run.hpp>

namespace hyperparallel {

/// Working memory of ranking, list scheduling and bounds.
template <int Tasks, int Events, int SignalUses, int Queues>
struct schedule_scratch {
  scratch_array<std::int64_t, Tasks> rank = {};  ///< task -> upward rank, picoseconds
  scratch_array<int, Tasks> run = {};            ///< run -> its first task; one past the last run: the number of tasks
  scratch_array<std::int64_t, Tasks> run_rank = {};
  scratch_array<int, Tasks> key = {};  ///< run -> rank scaled to sort digits
  scratch_array<int, Tasks> half_sorted = {};
  scratch_array<int, Tasks> sorted = {};                ///< runs in the order in which they are scheduled
  scratch_array<std::int64_t, Events> event_time = {};  ///< latest end of the signallers so far
  scratch_array<int, Events> prefix_begin = {};  ///< start of the event's history, -1 where every wait is for the total
  scratch_array<int, Events> prefix_count = {};
  scratch_array<std::int64_t, SignalUses> history =
      {};                                               ///< event_time after each signal, for events waited for in part
  scratch_array<std::int64_t, Queues> queue_free = {};  ///< heap of its pool: time of becoming free · pool + unit
  scratch_array<int, Queues> queue_next = {};
  scratch_array<std::int64_t, Queues> pool_head = {};  ///< at a pool's first queue: earliest possible start
  scratch_array<std::int64_t, Queues> pool_tail = {};  ///< at a pool's first queue: least time after its last task
  int low_digit[1025] = {};                            ///< counts of the keys' low digits
  int high_digit[1025] = {};                           ///< and of their high digits
};

template <taskflow_size Size, int Queues>
using fixed_schedule_scratch = schedule_scratch<Size.tasks, Size.events, signal_room(Size), Queues>;
using dynamic_schedule_scratch = schedule_scratch<run_time_count, run_time_count, run_time_count, run_time_count>;

namespace detail {

/// Clears event_time and gives each event that some wait needs only in part a range of `history`; tells whether there
/// is such an event.
template <class Flow, class Scratch>
constexpr bool clear_events(const Flow& f, Scratch& x) {
  for (int e = 0, events = f.size.events; e < events; ++e) {
    x.event_time[e] = 0;
    x.prefix_begin[e] = -1;
  }
  int used = 0;
  for (int w = 0, waits = f.size.waits; w < waits; ++w) {
    const wait k = f.wait[w];
    const int signals = f.event[k.event].signals;
    if (k.threshold == signals || x.prefix_begin[k.event] >= 0) continue;
    x.prefix_begin[k.event] = used;
    x.prefix_count[k.event] = 0;
    for (int i = 0; i < signals; ++i) x.history[used++] = 0;
  }
  return used > 0;
}

/// Fills `x.run`, returns the number of runs. Where waits for part of an event are about (`partial`), tiles differ in
/// which of them they release, and each is a run. What will be written in another order is cleared in this one: a
/// constant evaluation keeps an array's elements sorted and moves half of them for one in between.
template <class Flow, class Scratch>
constexpr int find_runs(const Flow& f, bool partial, Scratch& x) {
  const int tasks = f.size.tasks;
  int runs = 0;
  for (int first = 0, past = 0; first < tasks; first = past) {
    past = first + 1;
    if (!partial && past < tasks && f.task[past].part > 0) past = end_of_run(f, first);
    x.run[runs] = first;
    x.run_rank[runs] = x.half_sorted[runs] = x.sorted[runs] = 0;
    ++runs;
  }
  x.run[runs] = tasks;
  return runs;
}

/// Fills `x.run_rank` and returns the greatest rank, after `clear_events`, whose result `partial` is, and `find_runs`.
template <class Flow, class Scratch>
constexpr std::int64_t sweep_ranks(const Flow& f, std::int64_t synchronisation, bool partial, int runs, Scratch& x) {
  std::int64_t longest = 0;
  for (int r = runs - 1; r >= 0; --r) {
    const task k = f.task[x.run[r]];
    std::int64_t tail = 0;
    bool chained = false;
    for (int s = k.signal_begin; s < k.signal_end; ++s) {
      const int e = f.signal[s];
      if (partial && x.prefix_begin[e] >= 0) {
        // Signallers come last first: this one serves every wait for its own ordinal or a later one.
        chained = true;
        const std::int64_t due = x.history[x.prefix_begin[e] + f.event[e].signals - ++x.prefix_count[e]];
        if (x.event_time[e] < due) x.event_time[e] = due;
      }
      if (tail < x.event_time[e]) tail = x.event_time[e];
    }
    const std::int64_t rank = k.duration + tail, due = rank + synchronisation;
    x.run_rank[r] = rank;
    if (longest < rank) longest = rank;
    if (chained)
      for (int s = k.signal_begin; s < k.signal_end; ++s)
        if (x.prefix_begin[f.signal[s]] >= 0 && x.event_time[f.signal[s]] < rank) x.event_time[f.signal[s]] = rank;
    for (int w = k.wait_begin; w < k.wait_end; ++w) {
      const int e = f.wait[w].event;
      if (!partial || f.wait[w].threshold == f.event[e].signals) {
        if (x.event_time[e] < due) x.event_time[e] = due;
      } else {
        const int place = x.prefix_begin[e] + f.wait[w].threshold - 1;
        if (x.history[place] < due) x.history[place] = due;
      }
    }
  }
  return longest;
}

}  // namespace detail

/// Fills `x.rank` and returns the greatest rank, which is the critical path.
/// Domain: a flow that `check_flow` accepts. `synchronisation`: picoseconds between a signal and the wait that it
/// releases. Complexity: one reverse sweep, O(tasks + waits + signals).
template <class Flow, class Scratch>
constexpr std::int64_t upward_ranks(const Flow& f, std::int64_t synchronisation, Scratch& x) {
  const bool partial = detail::clear_events(f, x);
  const int runs = detail::find_runs(f, partial, x);
  const std::int64_t longest = detail::sweep_ranks(f, synchronisation, partial, runs, x);
  for (int r = 0, t = 0; r < runs; ++r)
    while (t < x.run[r + 1]) x.rank[t++] = x.run_rank[r];
  return longest;
}

}  // namespace hyperparallel
