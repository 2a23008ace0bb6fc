// SPDX-License-Identifier: Apache-2.0
#pragma once
// Events as positions in queues: "all signals of e have come" says that of every queue that signals e a certain record
// has ended, the last one that signals it. So most waits need no counter, only the queues' progress words.
//
// An event keeps a counter where positions cannot say it (a threshold below the total while several queues signal, or
// above the total), where a signal comes from another rank than the event's (one-sided: the signaller reaches the
// counter's memory, the waiting rank not the signaller's queue), and where a counter is cheaper. Costs count transfers
// of a cache line: positions take one for every pair of a signalling and a waiting queue; a counter takes two for every
// signal, for an addition makes the signaller wait for the line, and one for every waiting queue.

#include <hyperparallel/taskflow/scratch.hpp>
#include <hyperparallel/taskflow/storage.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct execution_options {
  bool remote_counters = true;   ///< events signalled from another rank keep a counter
  bool cheaper_counters = true;  ///< so do events for which that takes fewer transfers
  friend constexpr bool operator==(const execution_options&, const execution_options&) = default;
};

namespace detail {

template <int Tasks, int Events, int SignalUses>
struct event_joins {
  scratch_array<int, Tasks> home = {};             ///< task -> queue
  scratch_array<int, Tasks> position = {};         ///< task -> 1, 2, … in its queue
  scratch_array<int, Events> use_begin = {};       ///< event -> its first signal below
  scratch_array<int, Events> total = {};           ///< event -> signals in one run
  scratch_array<int, Events> joins = {};           ///< event -> queues that signal it
  scratch_array<int, Events> waiters = {};         ///< event -> queues that wait for it
  scratch_array<int, Events> last_queue = {};      ///< the queue counted last
  scratch_array<bool, Events> is_counter = {};     ///< event -> keeps a counter
  scratch_array<int, SignalUses> use_at = {};      ///< signals by event, queue by queue: position of the signaller
  scratch_array<int, SignalUses> join_queue = {};  ///< the first `joins` of an event's range: a queue that signals it,
  scratch_array<int, SignalUses> join_at = {};     ///< and the position of the last signaller there
};

template <class Flow, class Schedule, class Joins>
constexpr void place_tasks(const Flow& f, const Schedule& s, Joins& x) {
  for (int e = 0; e < f.size.events; ++e) {
    x.total[e] = x.joins[e] = x.waiters[e] = 0;
    x.last_queue[e] = -1;
    x.is_counter[e] = false;
  }
  for (int q = 0, queues = queue_count(s.machine); q < queues; ++q)
    for (int i = s.queue_begin[q], first = i - 1, end = s.queue_begin[q + 1]; i < end; ++i) {
      const int t = s.queue_task[i];
      x.home[t] = q;
      x.position[t] = i - first;
      const int first_event = f.task[t].first_event, signal_end = f.task[t].signal_end;
      for (int g = f.task[t].signal_begin; g < signal_end; ++g) ++x.total[f.signal[g] + first_event];
    }
  for (int e = 0, begin = 0; e < f.size.events; ++e) {
    x.use_begin[e] = begin;
    begin += x.total[e];
    x.total[e] = 0;
  }
}

template <class Flow, class Schedule, class Joins>
constexpr void join_signals(const Flow& f, const Schedule& s, const execution_options& options, Joins& x) {
  for (int i = 0; i < s.task_count; ++i) {
    const int t = s.queue_task[i], q = x.home[t], at = x.position[t], rank = f.task[t].rank;
    const int first_event = f.task[t].first_event, signal_end = f.task[t].signal_end;
    for (int g = f.task[t].signal_begin; g < signal_end; ++g) {
      const int e = f.signal[g] + first_event, begin = x.use_begin[e];
      x.use_at[begin + x.total[e]] = at;
      ++x.total[e];
      if (x.last_queue[e] != q) {
        x.last_queue[e] = q;
        x.join_queue[begin + x.joins[e]] = q;
        ++x.joins[e];
      }
      x.join_at[begin + x.joins[e] - 1] = at;
      if (options.remote_counters && rank != f.event[e].rank) x.is_counter[e] = true;
    }
  }
}

template <class Flow, class Schedule, class Joins>
constexpr void choose_counters(const Flow& f, const Schedule& s, const execution_options& options, Joins& x) {
  for (int e = 0; e < f.size.events; ++e) x.last_queue[e] = -1;
  for (int i = 0; i < s.task_count; ++i) {
    const int t = s.queue_task[i], q = x.home[t], first_event = f.task[t].first_event, wait_end = f.task[t].wait_end;
    for (int w = f.task[t].wait_begin; w < wait_end; ++w) {
      const int e = f.wait[w].event + first_event, n = f.wait[w].threshold;
      if (n > x.total[e] || (n < x.total[e] && x.joins[e] > 1)) x.is_counter[e] = true;
      if (x.last_queue[e] == q) continue;
      x.last_queue[e] = q;
      ++x.waiters[e];
    }
  }
  if (!options.cheaper_counters) return;
  for (int e = 0; e < f.size.events; ++e)
    if (std::int64_t{x.joins[e]} * x.waiters[e] > 2 * std::int64_t{x.total[e]} + x.waiters[e]) x.is_counter[e] = true;
}

}  // namespace detail

/// Fills `x`. Domain: every task stands once in one queue; events of waits and signals exist; thresholds are positive.
/// Returns how many word waits the flow can lower to at most. Complexity: O(tasks + waits + signals + events).
template <class Flow, class Schedule, class Joins>
constexpr int join_events(const Flow& f, const Schedule& s, const execution_options& options, Joins& x) {
  detail::place_tasks(f, s, x);
  detail::join_signals(f, s, options, x);
  detail::choose_counters(f, s, options, x);
  int most = 0;
  for (int t = 0; t < f.size.tasks; ++t)
    for (int w = f.task[t].wait_begin; w < f.task[t].wait_end; ++w) {
      const int e = f.wait[w].event + f.task[t].first_event;
      most += x.is_counter[e] ? 1 : x.joins[e];
    }
  return most;
}

}}  // namespace hyperparallel::v0_2
