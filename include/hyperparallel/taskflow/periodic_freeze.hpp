// SPDX-License-Identifier: Apache-2.0
#pragma once
// From an explicit schedule of a few copies of a period to the periodic one: one copy's queues and starts, repeated at
// an interval.
//
// A task's stage is the number of whole intervals from its copy's first start to its own, and what remains orders it
// within the iteration. Law: if the interval is long enough for every carried wait, the order of all iterations is a
// run of any number of copies: a task starts no earlier than what it waits for ends, in its own copy because the
// explicit schedule has it so, in an earlier one because of the interval; of equal starts the older copy comes first.

#include <hyperparallel/taskflow/periodic_schedule.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Whether task `a` stands before `b` in an iteration: by time, then the older copy, then as the list scheduler had
/// them.
template <class Times, class Stages, class Places>
constexpr bool earlier_in_iteration(const Times& time, const Stages& stage, const Places& place, int a, int b) {
  if (time[a] != time[b]) return time[a] < time[b];
  if (stage[a] != stage[b]) return stage[a] > stage[b];
  return place[a] < place[b];
}

/// Sorts s.order by `earlier_in_iteration`, merging runs of doubling length. O(tasks log tasks).
template <class Times, class Stages, class Places, class Order, class Merged>
constexpr void sort_iteration(int n, const Times& time, const Stages& stage, const Places& place, Order& order,
                              Merged& merged) {
  for (int run = 1; run < n; run *= 2) {
    for (int low = 0; low < n; low += 2 * run) {
      const int middle = low + run < n ? low + run : n, high = low + 2 * run < n ? low + 2 * run : n;
      for (int i = low, j = middle, k = low; k < high; ++k) {
        if (j >= high || (i < middle && !earlier_in_iteration(time, stage, place, order[j], order[i]))) {
          merged[k] = order[i++];
        } else {
          merged[k] = order[j++];
        }
      }
    }
    for (int i = 0; i < n; ++i) order[i] = merged[i];
  }
}

}  // namespace detail

template <int Tasks, int Events, int Queues>
struct freeze_scratch {
  scratch_array<std::int64_t, Tasks> start = {};       ///< task -> start in its copy's time, then within its iteration
  scratch_array<std::int64_t, Events> signalled = {};  ///< event -> when the last of its signals is seen
  scratch_array<int, Tasks> place = {};                ///< task -> place among its copy's tasks in the explicit order
  scratch_array<int, Tasks> merged = {};
  scratch_array<int, Queues> next = {};
};

using dynamic_freeze_scratch = freeze_scratch<run_time_count, run_time_count, run_time_count>;

struct owned_freeze_scratch : dynamic_freeze_scratch {
  owned_freeze_scratch(int tasks, int events, int queues) {
    start = memory.take<std::int64_t>(tasks);
    signalled = memory.take<std::int64_t>(events);
    place = memory.take<int>(tasks);
    merged = memory.take<int>(tasks);
    next = memory.take<int>(queues);
  }
  scratch_memory memory;
};

/// Freezes what the explicit schedule `e` with its `line` does with copy `copy` of the period, repeated every
/// `interval` picoseconds: that is at least 1, and is raised until every carried wait is kept and no more than
/// `most_stages` stages arise. An interval of at least the copy's own length gives copy after copy on every queue.
/// Returns the interval taken. Complexity: O(tasks log tasks + waits + signals).
template <class Period, class Explicit, class Timeline, class Schedule, class Scratch>
constexpr std::int64_t freeze_period(const Period& p, const Explicit& e, const Timeline& line, int copy,
                                     std::int64_t interval, std::int64_t synchronisation, Schedule& s, Scratch& x) {
  const int tasks = p.size.tasks, base = copy * tasks;
  std::int64_t first = 0, last = 0;
  s.machine = e.machine;
  s.task_count = tasks;
  for (int i = 0, found = 0; found < tasks; ++i) {
    const int t = e.order[i] - base;
    if (t < 0 || t >= tasks) continue;
    const std::int64_t start = line.start[base + t];
    x.place[t] = found;
    s.order[found] = t;
    if (found == 0 || start < first) first = start;
    if (found == 0 || start > last) last = start;
    found += 1;
  }
  for (int t = 0; t < tasks; ++t) {
    s.queue[t] = e.queue[base + t];
    x.start[t] = line.start[base + t] - first;
  }
  const std::int64_t span = last - first;
  if (interval < span / most_stages + 1) interval = span / most_stages + 1;
  for (int i = 0; i < p.size.events; ++i) x.signalled[i] = 0;
  for (int t = 0; t < tasks; ++t) {
    const task k = p.task[t];
    const std::int64_t end = x.start[t] + k.duration + synchronisation;
    for (int g = k.signal_begin; g < k.signal_end; ++g) {
      const int event = p.signal[g] + k.first_event;
      if (x.signalled[event] < end) x.signalled[event] = end;
    }
  }
  for (int r = 0; r < p.size.runs; ++r) {
    const task k = p.task[p.run[r]];
    for (int w = k.wait_begin; w < k.wait_end; ++w) {
      const int number = p.wait[w].event + k.first_event, distance = distance_of(number);
      if (distance == 0) continue;
      for (int t = p.run[r]; t < p.run[r + 1]; ++t) {
        const std::int64_t late = x.signalled[own_number(number)] - x.start[t];
        if (interval * distance < late) interval = (late + distance - 1) / distance;
      }
    }
  }
  int stages = 1;
  for (int t = 0; t < tasks; ++t) {
    s.stage[t] = static_cast<int>(x.start[t] / interval);
    x.start[t] %= interval;
    if (stages <= s.stage[t]) stages = s.stage[t] + 1;
  }
  s.stages = stages;
  if (stages > 1) detail::sort_iteration(tasks, x.start, s.stage, x.place, s.order, x.merged);
  detail::fill_periodic_queues(s, x.next);
  return interval;
}

}}  // namespace hyperparallel::v0_2
