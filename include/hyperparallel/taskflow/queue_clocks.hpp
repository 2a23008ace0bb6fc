// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which waits a plan needs beside its queues' order.
//
// Law: what is kept implies every wait of the plan. A wait is left out when it follows from what the task has behind
// it, and only then: tasks before it in its queue and all that their waits imply, or another wait of its own. What a
// task has behind it is its *vector clock*, per queue the greatest position that is known to have ended; a wait brings
// the clock of the task it waits for. Clocks of all tasks take tasks × queues numbers; where those are more than
// `most_clock_cells`, only the positions waited for are known, without what these imply, and more waits remain.
//
// Tasks that no run reaches (a cycle, a signal that never comes) keep all waits that their own queue does not imply, so
// that the executor can name them.

#include <hyperparallel/taskflow/event_joins.hpp>
#include <hyperparallel/taskflow/exact_check.hpp>
#include <hyperparallel/taskflow/execution_table.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

inline constexpr std::int64_t most_clock_cells = std::int64_t{1} << 22;

constexpr int clock_cells(int tasks, int queues) {
  const std::int64_t cells = std::int64_t{tasks} * queues;
  return cells > most_clock_cells ? 0 : static_cast<int>(cells);
}

/// Working memory. Of the word waits kept, those for counters carry the number of queues plus the event for a word
/// until the table is filled.
template <int Tasks, int Events, int SignalUses, int Queues, int Clocks, int Known, int Waits>
struct execution_scratch {
  event_joins<Tasks, Events, SignalUses> join = {};
  scratch_array<int, Queues> next = {};  ///< as in exact_scratch
  scratch_array<int, Queues> blocked_after = {};
  scratch_array<int, Queues> ready = {};
  scratch_array<int, Events> count = {};
  scratch_array<int, Events> blocked = {};
  scratch_array<bool, Tasks> begun = {};
  scratch_array<int, Known> known = {};                ///< queue × queue: the clock of the queue's last task
  scratch_array<int, Clocks> clock = {};               ///< place in `queue_task` × queue
  scratch_array<int, Queues> wanted = {};              ///< queue -> greatest position that the present task waits for
  scratch_array<int, Queues> asked = {};               ///< the queues with such a position
  scratch_array<std::int64_t, Tasks> end = {};         ///< planned, without latency
  scratch_array<std::int64_t, Queues> free = {};       ///< end of the queue's last task
  scratch_array<std::int64_t, Events> signalled = {};  ///< the last signal so far
  scratch_array<int, Tasks> kept_begin = {};
  scratch_array<int, Tasks> kept_end = {};
  scratch_array<word_wait, Waits> kept = {};
  scratch_array<int, Events> counter = {};        ///< event -> counter, -1
  scratch_array<int, Events> counter_event = {};  ///< counter -> event
  scratch_array<int, Events> listeners = {};      ///< counter -> queues that wait for it
  scratch_array<int, Events> heard = {};          ///< counter -> the queue counted last
  scratch_array<int, Tasks> readers = {};         ///< place in `queue_task` -> queues that wait for it
};

template <taskflow_size Size, int Queues, int Waits>
using fixed_execution_scratch = execution_scratch<Size.tasks, Size.events, signal_room(Size), Queues,
                                                  clock_cells(Size.tasks, Queues), Queues * Queues, Waits>;
using dynamic_execution_scratch = execution_scratch<run_time_count, run_time_count, run_time_count, run_time_count,
                                                    run_time_count, run_time_count, run_time_count>;

/// Of the arrays, `kept` is made by `take_waits` when their number is known.
struct owned_execution_scratch : dynamic_execution_scratch {
  owned_execution_scratch(const taskflow_size& n, int queues) {
    int** const by_task[] = {&join.home, &join.position, &kept_begin, &kept_end, &readers};
    int** const by_event[] = {&join.use_begin,  &join.total, &join.joins, &join.waiters,
                              &join.last_queue, &count,      &blocked,    &counter,
                              &counter_event,   &listeners,  &heard};
    int** const by_signal[] = {&join.use_at, &join.join_queue, &join.join_at};
    int** const by_queue[] = {&next, &blocked_after, &ready, &wanted, &asked};
    for (int** array : by_task) *array = memory.take<int>(n.tasks);
    for (int** array : by_event) *array = memory.take<int>(n.events);
    for (int** array : by_signal) *array = memory.take<int>(signal_room(n));
    for (int** array : by_queue) *array = memory.take<int>(queues);
    end = memory.take<std::int64_t>(n.tasks);
    free = memory.take<std::int64_t>(queues);
    signalled = memory.take<std::int64_t>(n.events);
    join.is_counter = memory.take<bool>(n.events);
    begun = memory.take<bool>(n.tasks);
    known = memory.take<int>(queues * queues);
    clock = memory.take<int>(clock_cells(n.tasks, queues));
  }
  void take_waits(int waits) { kept = memory.take<word_wait>(waits); }
  scratch_memory memory;
};

/// Raises the clock of queue `q` to contain that of the record at `position` of queue `of`.
template <class Schedule, class Scratch>
constexpr void learn(const Schedule& s, int queues, int q, int of, int position, bool clocks, Scratch& x) {
  const int mine = q * queues;
  if (clocks) {
    const int row = (s.queue_begin[of] + position - 1) * queues;
    for (int a = 0; a < queues; ++a)
      if (x.clock[row + a] > x.known[mine + a]) x.known[mine + a] = x.clock[row + a];
  }
  if (position > x.known[mine + of]) x.known[mine + of] = position;
}

/// Whether all signals of `e` are behind queue `q`.
template <class Scratch>
constexpr bool joined(int e, int queues, int q, const Scratch& x) {
  const int begin = x.join.use_begin[e];
  for (int j = begin; j < begin + x.join.joins[e]; ++j)
    if (x.join.join_at[j] > x.known[q * queues + x.join.join_queue[j]]) return false;
  return true;
}

/// When `t` ends, by the waits that are kept of it; raises what it signals.
template <class Flow, class Schedule, class Scratch>
constexpr void time_task(const Flow& f, const Schedule& s, int t, Scratch& x) {
  const int queues = queue_count(s.machine), q = x.join.home[t];
  std::int64_t start = x.free[q];
  for (int w = x.kept_begin[t]; w < x.kept_end[t]; ++w) {
    const int word = x.kept[w].word, e = word - queues;
    if (word < queues) {
      const std::int64_t ready = x.end[s.queue_task[s.queue_begin[word] + x.kept[w].threshold - 1]];
      start = ready > start ? ready : start;
    } else if (x.signalled[e] > start) {
      start = x.signalled[e];
    }
  }
  x.end[t] = x.free[q] = start + f.task[t].duration;
  for (int g = f.task[t].signal_begin; g < f.task[t].signal_end; ++g) {
    const int e = f.signal[g] + f.task[t].first_event;
    if (x.end[t] > x.signalled[e]) x.signalled[e] = x.end[t];
  }
}

/// Keeps the waits of `t` that its queue's clock does not imply, and adds `t` to the clock.
template <class Flow, class Schedule, class Scratch>
constexpr void prune_waits(const Flow& f, const Schedule& s, int t, bool reached, int& kept, Scratch& x) {
  const int queues = queue_count(s.machine), q = x.join.home[t], mine = q * queues;
  const int first_event = f.task[t].first_event, wait_end = f.task[t].wait_end;
  const bool clocks = clock_cells(f.size.tasks, queues) > 0;
  x.kept_begin[t] = kept;
  int asked = 0;
  for (int w = f.task[t].wait_begin; w < wait_end; ++w) {
    const int e = f.wait[w].event + first_event, n = f.wait[w].threshold, begin = x.join.use_begin[e];
    const bool all = n == x.join.total[e];
    if (n <= 0) continue;
    if (x.join.is_counter[e]) {
      if (all && joined(e, queues, q, x)) continue;
      x.kept[kept].word = queues + e;
      x.kept[kept++].threshold = n;
      for (int j = begin; all && j < begin + x.join.joins[e]; ++j)
        learn(s, queues, q, x.join.join_queue[j], x.join.join_at[j], clocks && reached, x);
      continue;
    }
    for (int j = begin; j < begin + x.join.joins[e]; ++j) {
      const int a = x.join.join_queue[j], at = all ? x.join.join_at[j] : x.join.use_at[begin + n - 1];
      if (at <= x.known[mine + a]) continue;
      if (x.wanted[a] == 0) x.asked[asked++] = a;
      if (at > x.wanted[a]) x.wanted[a] = at;
    }
  }
  for (int i = 0; i < asked; ++i) {
    const int a = x.asked[i], at = x.wanted[a];
    bool implied = at <= x.known[mine + a];
    for (int k = 0; reached && clocks && k < asked && !implied; ++k) {
      const int b = x.asked[k];
      implied = b != a && x.clock[(s.queue_begin[b] + x.wanted[b] - 1) * queues + a] >= at;
    }
    if (implied) continue;
    x.kept[kept].word = a;
    x.kept[kept++].threshold = at;
  }
  for (int i = 0; i < asked; ++i) {
    learn(s, queues, q, x.asked[i], x.wanted[x.asked[i]], clocks && reached, x);
    x.wanted[x.asked[i]] = 0;
  }
  x.kept_end[t] = kept;
  time_task(f, s, t, x);
  x.known[mine + q] = x.join.position[t];
  if (!clocks) return;
  const int row = (s.queue_begin[q] + x.join.position[t] - 1) * queues;
  for (int a = 0; a < queues; ++a) x.clock[row + a] = x.known[mine + a];
}

}  // namespace detail

/// Prunes the waits of the whole plan into `x.kept`, which has room for as many as `join_events` has returned for
/// `x.join`; that must come first. Complexity: O(tasks + signals + waits · queues).
template <class Flow, class Schedule, class Scratch>
constexpr void prune_plan(const Flow& f, const Schedule& s, Scratch& x) {
  const int tasks = f.size.tasks, queues = queue_count(s.machine);
  for (int q = 0; q < queues; ++q) {
    x.wanted[q] = 0;
    x.free[q] = 0;
  }
  for (int e = 0; e < f.size.events; ++e) x.signalled[e] = 0;
  for (int t = 0; t < tasks; ++t) x.end[t] = 0;
  for (int i = 0; i < queues * queues; ++i) x.known[i] = 0;
  for (int i = 0, cells = detail::clock_cells(tasks, queues); i < cells; ++i) x.clock[i] = 0;
  int kept = 0;
  for (int t = 0; t < tasks; ++t) x.kept_end[t] = -1;
  detail::run_greedily(f, s, -1, x, [&](int t) { detail::prune_waits(f, s, t, true, kept, x); });
  for (int i = 0; i < tasks; ++i)
    if (x.kept_end[s.queue_task[i]] < 0) detail::prune_waits(f, s, s.queue_task[i], false, kept, x);
}

}}  // namespace hyperparallel::v0_2
