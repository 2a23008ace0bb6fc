// SPDX-License-Identifier: Apache-2.0
#pragma once
// Discrete-event simulation of frozen queues in integer picoseconds.
//
// A task starts when its queue's previous task has ended and every event it waits for has counted its threshold, plus
// the synchronisation latency of the simulated executor once per wait. With frozen queues a start depends on nothing
// else, so one walk in the plan's order computes every time without an event heap.
//
// Laws: deterministic; start(t) >= end of the task before it in its queue; with the scheduler's own latency the result
// is the scheduler's estimate; per rank, exposed communication = |union(link busy) minus union(AIC busy)|, lengths
// exact.

#include <cstdint>

#include <hyperparallel/support/enum_text.hpp>
#include <hyperparallel/support/integer.hpp>
#include <hyperparallel/taskflow/upward_rank.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct simulation_options {
  std::int64_t synchronisation =
      0;  ///< picoseconds from a signal to the wait that it releases; print it beside every figure
  bool free_communication = false;  ///< link tasks take no time: what the plan would cost if transfers were free
};

enum class simulation_code : unsigned char { ok, deadlock, order_is_not_a_run_of_the_queues };

constexpr const char* to_text(simulation_code c) {
  constexpr const char* texts[] = {"ok", "a wait needs a signal that comes later in the plan's order",
                                   "the plan's order is not a run of its queues"};
  return detail::enum_text<simulation_code::order_is_not_a_run_of_the_queues>(texts, c);
}

/// Picoseconds, all ranks together. On failure `task` and `event` name the wait that is never released, and the makespan
/// is `not_counted`.
struct simulation_result {
  simulation_code code = simulation_code::ok;
  int task = -1, event = -1;
  std::int64_t makespan = 0;
  std::int64_t busy[resource_count] = {};
  friend constexpr bool operator==(const simulation_result&, const simulation_result&) = default;
};

/// Share of `kind`'s queue time that is busy, in 1/10 000.
constexpr std::int64_t utilisation(const simulation_result& r, const machine_shape& m, resource kind) {
  const int k = static_cast<int>(kind);
  const std::int64_t queues = std::int64_t{m.ranks} * m.queues[k];
  return queues == 0 || r.makespan == 0 ? 0 : (r.busy[k] / queues) * 10000 / r.makespan;
}

/// Start and end of every task, picoseconds: inline or pointers, like scratch.
template <int Tasks>
struct timeline {
  scratch_array<std::int64_t, Tasks> start = {};
  scratch_array<std::int64_t, Tasks> end = {};
};
template <int Tasks>
using fixed_timeline = timeline<Tasks>;
using dynamic_timeline = timeline<run_time_count>;

template <int Tasks, int Events, int SignalUses, int Queues>
struct simulation_scratch {
  scratch_array<std::int64_t, Queues> queue_free = {};
  scratch_array<int, Queues> queue_next = {};
  scratch_array<int, Tasks> run_end = {};  ///< task -> one past the last task that starts by the same waits
  scratch_array<std::int64_t, Events> event_time = {};
  scratch_array<int, Events> count = {};
  scratch_array<int, Events> prefix_begin = {};  ///< as in schedule_scratch
  scratch_array<int, Events> prefix_count = {};
  scratch_array<std::int64_t, SignalUses> history = {};
  scratch_array<int, Queues> heap = {};  ///< queues of one pool by the start of their next task
  scratch_array<std::int64_t, Queues> heap_start = {};
  scratch_array<std::int64_t, Tasks> from[2] = {};  ///< two unions of intervals
  scratch_array<std::int64_t, Tasks> to[2] = {};
};

namespace detail {
template <taskflow_size Size, int Queues>
using fixed_simulation_scratch = simulation_scratch<Size.tasks, Size.events, signal_room(Size), Queues>;

}  // namespace detail
using dynamic_simulation_scratch = simulation_scratch<run_time_count, run_time_count, run_time_count, run_time_count>;

namespace detail {
constexpr simulation_result failed_simulation(simulation_code code, int task, int event) {
  return {code, task, event, not_counted};
}

/// Nothing has been signalled, and every queue stands before its first task.
template <class Flow, class Schedule, class Scratch, class Free, class Next, class EventTimes, class Counts>
constexpr void rewind(const Flow& f, const Schedule& s, bool partial, Scratch& x, Free& queue_free, Next& queue_next,
                      EventTimes& event_time, Counts& count) {
  clear_events(f, partial, event_time, x);
  for (int e = 0, events = f.size.events; e < events; ++e) count[e] = 0;
  for (int q = 0, queues = queue_count(s.machine); q < queues; ++q) {
    queue_free[q] = 0;
    queue_next[q] = s.queue_begin[q];
  }
}

/// Task → one past the last task of its run.
template <class Flow, class Runs>
constexpr void find_run_ends(const Flow& f, Runs& run_end) {
  for (int r = 0, t = 0, runs = f.size.runs; r < runs; ++r)
    for (const int past = f.run[r + 1]; t < past; t = t + 1) run_end[t] = past;
}

/// `simulate` with the arrays that it writes most as arguments of their own, as in list scheduling. Tiles of a run that
/// follow each other in the order wait for the same events and add to the same ones, so both are done once for all of
/// them; where waits for part of an event are about, each task stands for itself.
template <class Flow, class Schedule, class Scratch, class Times, class Free, class Next, class Runs, class EventTimes,
          class Counts>
constexpr simulation_result simulate_tasks(const Flow& f, const Schedule& s, simulation_options options, Times& started,
                                           Times& ended, Scratch& x, Free& queue_free, Next& queue_next, Runs& run_end,
                                           EventTimes& event_time, Counts& count) {
  constexpr simulation_code disorder = simulation_code::order_is_not_a_run_of_the_queues;
  const int tasks = f.size.tasks, queues = queue_count(s.machine);
  if (s.task_count != tasks) return failed_simulation(disorder, -1, -1);
  const bool partial = waits_in_part(f);
  rewind(f, s, partial, x, queue_free, queue_next, event_time, count);
  const bool alone = partial || f.size.runs == tasks;  // each task stands for itself
  if (!alone) find_run_ends(f, run_end);
  auto &order = s.order, &queue = s.queue, &queue_task = s.queue_task;
  auto& queue_begin = s.queue_begin;
  const std::int64_t synchronisation = options.synchronisation;
  simulation_result result;
  std::int64_t start = 0, end = 0, makespan = 0;
  int t = 0, q = 0, place = 0;
  for (int p = 0; p < tasks;) {
    t = order[p];
    if (t < 0 || t >= tasks) return failed_simulation(disorder, t, -1);
    const task k = f.task[t];
    std::int64_t ready = 0, last_end = 0;
    for (int w = k.wait_begin; w < k.wait_end; ++w) {
      const wait u = f.wait[w];
      const int e = u.event + k.first_event;
      if (count[e] < u.threshold) return failed_simulation(simulation_code::deadlock, t, e);
      const std::int64_t due =
          synchronisation +
          (!partial || x.prefix_begin[e] < 0 ? event_time[e] : x.history[x.prefix_begin[e] + u.threshold - 1]);
      if (ready < due) ready = due;
    }
    const std::int64_t duration = options.free_communication && k.kind == resource::link ? 0 : k.duration;
    const int first = t, past = alone ? t + 1 : run_end[t];
    do {
      q = queue[t];
      if (q < 0 || q >= queues) return failed_simulation(disorder, t, -1);
      place = queue_next[q];
      if (place >= queue_begin[q + 1] || queue_task[place] != t) return failed_simulation(disorder, t, -1);
      queue_next[q] = place + 1;
      start = queue_free[q];
      if (start < ready) start = ready;
      end = start + duration;
      started[t] = start;
      ended[t] = end;
      queue_free[q] = end;
      if (last_end < end) last_end = end;
      p = p + 1;
      t = t + 1;
    } while (t < past && p < tasks && order[p] == t);
    result.busy[static_cast<int>(k.kind)] += (t - first) * duration;
    if (makespan < last_end) makespan = last_end;
    for (int g = k.signal_begin; g < k.signal_end; ++g) {
      const int e = f.signal[g] + k.first_event;
      count[e] += t - first;
      if (event_time[e] < last_end) event_time[e] = last_end;
      if (partial && x.prefix_begin[e] >= 0) x.history[x.prefix_begin[e] + x.prefix_count[e]++] = event_time[e];
    }
  }
  result.makespan = makespan;
  return result;
}

}  // namespace detail

/// Fills `line`. Domain: a flow that `check_flow` accepts and a schedule of it; a threshold below an event's total
/// needs all its signallers in one queue, as `verify` demands. Complexity: O(tasks + waits + signals).
template <class Flow, class Schedule, class Timeline, class Scratch>
constexpr simulation_result simulate(const Flow& f, const Schedule& s, simulation_options options, Timeline& line,
                                     Scratch& x) {
  return detail::simulate_tasks(f, s, options, line.start, line.end, x, x.queue_free, x.queue_next, x.run_end,
                                x.event_time, x.count);
}

namespace detail {
/// The union of the busy intervals of `kind`'s queues on `rank`, ascending and disjoint, into x.from[side], x.to[side].
/// Returns their number. Merges the queues by a heap on the start of each queue's next task: O(n log queues).
template <class Schedule, class Timeline, class Scratch>
constexpr int unite_busy(const Schedule& s, const Timeline& line, int rank, resource kind, int side, Scratch& x) {
  const int first = first_queue(s.machine, rank, kind), pool = s.machine.queues[static_cast<int>(kind)];
  int waiting = 0;
  for (int q = first; q < first + pool; ++q) {
    x.queue_next[q] = s.queue_begin[q];
    if (s.queue_begin[q] == s.queue_begin[q + 1]) continue;
    const std::int64_t start = line.start[s.queue_task[s.queue_begin[q]]];
    int hole = waiting++;
    for (; hole > 0 && start < x.heap_start[(hole - 1) / 2]; hole = (hole - 1) / 2) {
      x.heap[hole] = x.heap[(hole - 1) / 2];
      x.heap_start[hole] = x.heap_start[(hole - 1) / 2];
    }
    x.heap[hole] = q;
    x.heap_start[hole] = start;
  }
  int found = 0;
  while (waiting > 0) {
    const int q = x.heap[0], bound = s.queue_begin[q + 1];
    int next = x.queue_next[q];
    const std::int64_t start = line.start[s.queue_task[next]];
    std::int64_t end = line.end[s.queue_task[next]];
    for (++next; next < bound && line.start[s.queue_task[next]] == end; ++next) end = line.end[s.queue_task[next]];
    if (end > start) {
      if (found > 0 && x.to[side][found - 1] >= start) {
        if (x.to[side][found - 1] < end) x.to[side][found - 1] = end;
      } else {
        x.from[side][found] = start;
        x.to[side][found++] = end;
      }
    }
    x.queue_next[q] = next;
    int moved = q;
    if (next == bound) moved = x.heap[--waiting];
    const std::int64_t key = next == bound ? x.heap_start[waiting] : line.start[s.queue_task[next]];
    int hole = 0;
    for (int child = 1; child < waiting; child = 2 * hole + 1) {
      if (child + 1 < waiting && x.heap_start[child + 1] < x.heap_start[child]) ++child;
      if (x.heap_start[child] >= key) break;
      x.heap[hole] = x.heap[child];
      x.heap_start[hole] = x.heap_start[child];
      hole = child;
    }
    x.heap[hole] = moved;
    x.heap_start[hole] = key;
  }
  return found;
}

}  // namespace detail

/// How long `covered` works are busy on one rank, and how long of that no queue of `cover` is busy. Picoseconds.
struct exposure {
  std::int64_t busy = 0;     ///< |union(covered)|
  std::int64_t exposed = 0;  ///< |union(covered) minus union(cover)|
  /// Share of the busy time that is hidden, in 1/10 000; all of it where there is none.
  constexpr std::int64_t masked_share() const { return busy == 0 ? 10000 : (busy - exposed) * 10000 / busy; }
  /// Share of `makespan` that is exposed, in 1/10 000, rounded up.
  constexpr std::int64_t exposed_share(std::int64_t makespan) const {
    return makespan == 0 ? 0 : (exposed * 10000 + makespan - 1) / makespan;
  }
  friend constexpr bool operator==(const exposure&, const exposure&) = default;
};

/// Exposed communication of `rank` is `measure_exposure(s, line, rank, resource::link, resource::aic, x)`.
/// Domain: a timeline that `simulate` filled. Complexity: O(n log queues) over the two pools' tasks.
template <class Schedule, class Timeline, class Scratch>
constexpr exposure measure_exposure(const Schedule& s, const Timeline& line, int rank, resource covered, resource cover,
                                    Scratch& x) {
  const int shown = detail::unite_busy(s, line, rank, covered, 0, x);
  const int hiding = detail::unite_busy(s, line, rank, cover, 1, x);
  exposure e;
  int c = 0;
  for (int i = 0; i < shown; ++i) {
    std::int64_t from = x.from[0][i];
    const std::int64_t to = x.to[0][i];
    e.busy += to - from;
    while (c < hiding && x.to[1][c] <= from) ++c;
    for (int k = c; k < hiding && x.from[1][k] < to; ++k) {
      if (from < x.from[1][k]) e.exposed += x.from[1][k] - from;
      if (from < x.to[1][k]) from = x.to[1][k];
    }
    if (from < to) e.exposed += to - from;
  }
  return e;
}

/// Timeline, figures and rank 0's exposed communication, for constant evaluation.
template <int Tasks>
struct simulated {
  simulation_result result;
  exposure communication;
  fixed_timeline<Tasks> line;
};

template <taskflow_size Size, int Queues>
constexpr simulated<Size.tasks> simulate_fixed(const fixed_taskflow<Size>& f,
                                               const fixed_schedule<Size.tasks, Queues>& s,
                                               simulation_options options = {}) {
  simulated<Size.tasks> out;
  detail::fixed_simulation_scratch<Size, Queues> x;
  std::int64_t queue_free[detail::array_bound(Queues + 1)] = {}, event_time[detail::array_bound(Size.events + 1)] = {};
  int queue_next[detail::array_bound(Queues + 1)] = {}, run_end[detail::array_bound(Size.tasks + 1)] = {},
                                              count[detail::array_bound(Size.events + 1)] = {};
  out.result = detail::simulate_tasks(f, s, options, out.line.start, out.line.end, x, queue_free, queue_next, run_end,
                                      event_time, count);
  if (out.result.code == simulation_code::ok)
    out.communication = measure_exposure(s, out.line, 0, resource::link, resource::aic, x);
  return out;
}

}}  // namespace hyperparallel::v0_2
