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

namespace hyperparallel {

/// Working memory of ranking, list scheduling and bounds.
template <int Tasks, int Events, int Signals, int Queues>
struct schedule_scratch {
  scratch_array<std::int64_t, Tasks> rank = {};  ///< task -> upward rank, picoseconds
  scratch_array<int, Tasks> key = {};            ///< task -> rank scaled to sort digits
  scratch_array<int, Tasks> half_sorted = {};
  scratch_array<std::int64_t, Events> event_time = {};  ///< latest end of the signallers so far
  scratch_array<int, Events> prefix_begin = {};  ///< start of the event's history, -1 where every wait is for the total
  scratch_array<int, Events> prefix_count = {};
  scratch_array<std::int64_t, Signals> history = {};    ///< event_time after each signal, for events waited for in part
  scratch_array<std::int64_t, Queues> queue_free = {};  ///< heap of its pool: time of becoming free · pool + unit
  scratch_array<int, Queues> queue_next = {};
  scratch_array<std::int64_t, Queues> pool_head = {};  ///< at a pool's first queue: earliest possible start
  scratch_array<std::int64_t, Queues> pool_tail = {};  ///< at a pool's first queue: least time after its last task
  int digit[2][1025] = {};                             ///< counts of low and high digits of the keys
};

template <taskflow_size Size, int Queues>
using fixed_schedule_scratch = schedule_scratch<Size.tasks, Size.events, Size.signals, Queues>;
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

/// Fills `x.rank` and returns the greatest rank, after `clear_events`, whose result `partial` is.
template <class Flow, class Scratch>
constexpr std::int64_t sweep_ranks(const Flow& f, std::int64_t synchronisation, bool partial, Scratch& x) {
  std::int64_t longest = 0;
  for (int t = f.size.tasks - 1; t >= 0; --t) {
    const task k = f.task[t];
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
    x.rank[t] = rank;
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
  return detail::sweep_ranks(f, synchronisation, detail::clear_events(f, x), x);
}

}  // namespace hyperparallel
