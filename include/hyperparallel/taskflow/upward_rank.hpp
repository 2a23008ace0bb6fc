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

namespace hyperparallel { inline namespace v0_2 {

/// Working memory of ranking, list scheduling and bounds.
template <int Tasks, int Events, int SignalUses, int Queues>
struct schedule_scratch {
  scratch_array<std::int64_t, Tasks> rank = {};         ///< task -> upward rank, picoseconds
  scratch_array<std::int64_t, Tasks> run_rank = {};     ///< run, counted from the last -> its rank
  scratch_array<int, Tasks> next = {};                  ///< chains of runs of one digit; of positions of one queue
  scratch_array<int, Tasks> sorted = {};                ///< runs in the order in which they are scheduled
  scratch_array<std::int64_t, Events> event_time = {};  ///< latest end of the signallers so far
  scratch_array<int, Events> prefix_begin = {};  ///< start of the event's history, -1 where every wait is for the total
  scratch_array<int, Events> prefix_count = {};
  scratch_array<std::int64_t, SignalUses> history =
      {};                                               ///< event_time after each signal, for events waited for in part
  scratch_array<std::int64_t, Queues> queue_free = {};  ///< when it becomes free
  scratch_array<int, Queues> ring = {};                 ///< queues of its pool by the time of becoming free
  scratch_array<int, Queues> ring_front = {};           ///< at a pool's first queue: where its ring begins
  scratch_array<int, Queues> queue_last = {};           ///< position of its last task so far, -1
  scratch_array<std::int64_t, Queues> pool_head = {};   ///< at a pool's first queue: earliest possible start
  scratch_array<std::int64_t, Queues> pool_tail = {};   ///< at a pool's first queue: least time after its last task
};

namespace detail {

template <taskflow_size Size, int Queues>
using fixed_schedule_scratch = schedule_scratch<Size.tasks, Size.events, signal_room(Size), Queues>;

}  // namespace detail
using dynamic_schedule_scratch = schedule_scratch<run_time_count, run_time_count, run_time_count, run_time_count>;

namespace detail {

/// Whether some wait needs its event only in part.
template <class Flow>
constexpr bool waits_in_part(const Flow& f) {
  if (f.thresholds == 0) return false;
  for (int r = 0, runs = f.size.runs; r < runs; ++r) {
    const task k = f.task[f.run[r]];
    for (int w = k.wait_begin; w < k.wait_end; ++w)
      if (f.wait[w].threshold != f.event[f.wait[w].event + k.first_event].signals) return true;
  }
  return false;
}

/// Clears `event_time` and, where some wait needs its event only in part (`partial`), gives each such event a range of
/// `history`. Without such waits prefix_begin has no meaning.
template <class Flow, class EventTimes, class Scratch>
constexpr void clear_events(const Flow& f, bool partial, EventTimes& event_time, Scratch& x) {
  for (int e = 0, events = f.size.events; e < events; ++e) event_time[e] = 0;
  if (!partial) return;
  for (int e = 0, events = f.size.events; e < events; ++e) x.prefix_begin[e] = -1;
  int used = 0;
  for (int r = 0, runs = f.size.runs; r < runs; ++r) {
    const task k = f.task[f.run[r]];
    for (int w = k.wait_begin; w < k.wait_end; ++w) {
      const int e = f.wait[w].event + k.first_event, signals = f.event[e].signals;
      if (f.wait[w].threshold == signals || x.prefix_begin[e] >= 0) continue;
      x.prefix_begin[e] = used;
      x.prefix_count[e] = 0;
      for (int i = 0; i < signals; ++i) x.history[used++] = 0;
    }
  }
}

/// Fills `run_rank` and returns the greatest rank, after `clear_events`. Tiles of a run have one rank; where waits
/// for part of an event are about (`partial`), tiles differ in which of them they release, and each is a run. Arrays
/// are written in their own order, for a constant evaluation keeps an array's elements sorted and moves half of them
/// for one in between: so ranks stand as the sweep finds them, the last run's first.
template <class Flow, class EventTimes, class Ranks, class Scratch>
constexpr std::int64_t sweep_ranks(const Flow& f, std::int64_t synchronisation, bool partial, EventTimes& event_time,
                                   Ranks& run_rank, Scratch& x) {
  const int runs = partial ? f.size.tasks : f.size.runs;
  std::int64_t longest = 0;
  for (int i = 0; i < runs; ++i) {
    const task k = f.task[partial ? runs - 1 - i : f.run[runs - 1 - i]];
    std::int64_t tail = 0;
    bool chained = false;
    for (int s = k.signal_begin; s < k.signal_end; ++s) {
      const int e = f.signal[s] + k.first_event;
      if (partial && x.prefix_begin[e] >= 0) {
        // Signallers come last first: this one serves every wait for its own ordinal or a later one.
        chained = true;
        const std::int64_t due = x.history[x.prefix_begin[e] + f.event[e].signals - ++x.prefix_count[e]];
        if (event_time[e] < due) event_time[e] = due;
      }
      if (tail < event_time[e]) tail = event_time[e];
    }
    const std::int64_t rank = k.duration + tail, due = rank + synchronisation;
    run_rank[i] = rank;
    if (longest < rank) longest = rank;
    if (chained)
      for (int s = k.signal_begin; s < k.signal_end; ++s) {
        const int e = f.signal[s] + k.first_event;
        if (x.prefix_begin[e] >= 0 && event_time[e] < rank) event_time[e] = rank;
      }
    for (int w = k.wait_begin; w < k.wait_end; ++w) {
      const int e = f.wait[w].event + k.first_event;
      if (!partial || f.wait[w].threshold == f.event[e].signals) {
        if (event_time[e] < due) event_time[e] = due;
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
  const bool partial = detail::waits_in_part(f);
  detail::clear_events(f, partial, x.event_time, x);
  const std::int64_t longest = detail::sweep_ranks(f, synchronisation, partial, x.event_time, x.run_rank, x);
  const int runs = partial ? f.size.tasks : f.size.runs;
  for (int r = 0, t = 0; r < runs; ++r)
    for (const int past = partial ? r + 1 : f.run[r + 1]; t < past; ++t) x.rank[t] = x.run_rank[runs - 1 - r];
  return longest;
}

}}  // namespace hyperparallel::v0_2
