// SPDX-License-Identifier: Apache-2.0
#pragma once
// List scheduling on typed pools: every rank and resource class has its own queues; tasks are taken in priority order
// and each goes to the queue of its pool that is free first. The result is frozen: nothing re-sorts it at run time, for
// fewer waits or shorter tasks can make a re-sorted plan slower.
//
// Laws: `order` is topological, ties resolve by index, so zero durations are fine; each queue runs its tasks in
// `order`; a task starts at max(queue free, every event it waits for + synchronisation); signallers of an event that is
// waited for in part run in reference order; of queues free at one time the lowest is taken. Tasks are not moved into
// gaps that earlier placements left, so Graham's bound, work / queues + critical path on one pool, is a measured
// property here (300 000 random flows, at most 0.86 of it) and not a theorem.

#include <cstdint>

#include <hyperparallel/taskflow/upward_rank.hpp>

namespace hyperparallel {

/// upward_rank: longest remaining chain first. reference_order: as the flow lists its tasks, where the lowering
/// interleaves by itself.
enum class priority : unsigned char { upward_rank, reference_order };

struct schedule_options {
  priority policy = priority::upward_rank;
  std::int64_t synchronisation = 0;  ///< picoseconds between a signal and the wait that it releases
};

enum class schedule_code : unsigned char { ok, rank_outside_the_machine, no_queue_of_the_class };

struct schedule_status {
  schedule_code code = schedule_code::ok;
  int task = -1;
  friend constexpr bool operator==(const schedule_status&, const schedule_status&) = default;
};

constexpr const char* to_text(schedule_code c) {
  switch (c) {
    case schedule_code::ok:
      return "ok";
    case schedule_code::rank_outside_the_machine:
      return "the task's rank is outside the machine";
    case schedule_code::no_queue_of_the_class:
      return "the machine has no queue of the task's resource class";
  }
  return "unknown";
}

namespace detail {

/// x.sorted = runs by descending rank, ties by index. Ranks are scaled to 20 bits: a difference below 1 / 2^20 of the
/// critical path is a tie. Counting sort on digits; few runs get small digits so that clearing the counts does not
/// dominate.
template <class Scratch>
constexpr void order_by_rank(int runs, std::int64_t longest, Scratch& x) {
  const int bits = runs >= 512 ? 10 : 5, radix = 1 << bits, mask = radix - 1, top = (1 << 20) - 1;
  int shift = 0;
  while ((longest >> shift) > top) ++shift;
  for (int low = 0; low < 20; low += 2 * bits) {
    const int high = low + bits;
    for (int d = 0; d <= radix; ++d) x.low_digit[d] = x.high_digit[d] = 0;
    for (int r = 0; r < runs; ++r) {
      if (low == 0) x.key[r] = top - static_cast<int>(x.run_rank[r] >> shift);
      const int key = x.key[r] >> low;
      ++x.low_digit[(key & mask) + 1];
      ++x.high_digit[((key >> bits) & mask) + 1];
    }
    for (int d = 1; d < radix; ++d) {
      x.low_digit[d] += x.low_digit[d - 1];
      x.high_digit[d] += x.high_digit[d - 1];
    }
    for (int i = 0; i < runs; ++i) {
      const int r = low == 0 ? i : x.sorted[i];
      x.half_sorted[x.low_digit[(x.key[r] >> low) & mask]++] = r;
    }
    for (int i = 0; i < runs; ++i) {
      const int r = x.half_sorted[i];
      x.sorted[x.high_digit[(x.key[r] >> high) & mask]++] = r;
    }
  }
}

/// queue_task from `queue`, `order` and the number of each queue's tasks, which stands in queue_begin one place on.
template <class Schedule, class Scratch>
constexpr void fill_queues(int queues, Schedule& s, Scratch& x) {
  for (int q = 0; q < queues; ++q) {
    x.queue_next[q] = s.queue_begin[q];
    s.queue_begin[q + 1] += s.queue_begin[q];
  }
  for (int p = 0, tasks = s.task_count; p < tasks; ++p) {
    const int t = s.order[p];
    s.queue_task[x.queue_next[s.queue[t]]++] = t;
  }
}

}  // namespace detail

/// Schedules `f` on `machine`. Domain: a flow that `check_flow` accepts; `s` and `x` hold the flow's tasks and the
/// machine's queues, the makespan times a pool's queues is below 2^63. Failure: the first task whose rank or class the
/// machine lacks; then `s` has no meaning. Complexity: O(tasks log(queues of a pool) + waits + signals). Source: HEFT's
/// ranks and order, without insertion.
template <class Flow, class Schedule, class Scratch>
constexpr schedule_status list_schedule(const Flow& f, const machine_shape& machine, schedule_options options,
                                        Schedule& s, Scratch& x) {
  const int tasks = f.size.tasks, per_rank = queues_per_rank(machine), queues = queue_count(machine);
  const std::int64_t synchronisation = options.synchronisation;
  s.machine = machine;
  s.task_count = tasks;
  int class_begin[resource_count] = {}, pool_queues[resource_count] = {};
  for (int r = 0; r < resource_count; ++r) {
    class_begin[r] = first_queue(machine, 0, static_cast<resource>(r));
    pool_queues[r] = machine.queues[r];
  }
  const bool partial = detail::clear_events(f, x);
  const int runs = detail::find_runs(f, partial, x);
  if (options.policy == priority::upward_rank) {
    detail::order_by_rank(runs, detail::sweep_ranks(f, synchronisation, partial, runs, x), x);
    if (partial) detail::clear_events(f, x);
    for (int e = 0, events = f.size.events; e < events; ++e) x.event_time[e] = 0;
  } else {
    for (int r = 0; r < runs; ++r) x.sorted[r] = r;
  }
  s.queue_begin[queues] = 0;
  for (int rank = 0, base = 0; rank < machine.ranks; ++rank)
    for (int r = 0; r < resource_count; ++r)
      for (int i = 0; i < pool_queues[r]; ++i, ++base) {
        x.queue_free[base] = i;
        s.queue_begin[base] = 0;
      }
  for (int t = 0; t < tasks; ++t) s.start[t] = s.queue[t] = s.queue_task[t] = 0;
  std::int64_t makespan = 0;
  // Declared once: clang pays for a declaration as much as for three statements.
  std::int64_t free = 0, start = 0, end = 0, key = 0, least = 0;
  int unit = 0, q = 0, hole = 0, child = 0;
  for (int i = 0, p = 0; i < runs; ++i) {
    const int r = x.sorted[i], first = x.run[r], past = x.run[r + 1];
    const task k = f.task[first];
    const int kind = static_cast<int>(k.kind), pool = pool_queues[kind], root = k.rank * per_rank + class_begin[kind];
    if (k.rank < 0 || k.rank >= machine.ranks) return {schedule_code::rank_outside_the_machine, first};
    if (pool <= 0) return {schedule_code::no_queue_of_the_class, first};

    // What a run waits for has happened before its first tile starts, so one look serves all tiles.
    std::int64_t ready = 0, last_end = 0;
    for (int w = k.wait_begin; w < k.wait_end; ++w) {
      const int e = f.wait[w].event;
      const std::int64_t due = synchronisation + (!partial || x.prefix_begin[e] < 0
                                                      ? x.event_time[e]
                                                      : x.history[x.prefix_begin[e] + f.wait[w].threshold - 1]);
      if (ready < due) ready = due;
    }
    for (int t = first; t < past; ++t) {
      free = x.queue_free[root];
      unit = static_cast<int>(free % pool);
      q = root + unit;
      start = free / pool;
      if (start < ready) start = ready;
      end = start + k.duration;
      s.order[p++] = t;
      s.queue[t] = q;
      s.start[t] = start;
      ++s.queue_begin[q + 1];
      if (last_end < end) last_end = end;

      // The pool's root queue is free again at `end`: sift it down.
      key = end * pool + unit;
      hole = root;
      child = root + 1;
      while (child < root + pool) {
        least = x.queue_free[child];
        if (child + 1 < root + pool && x.queue_free[child + 1] < least) least = x.queue_free[++child];
        if (key < least) break;
        x.queue_free[hole] = least;
        hole = child;
        child += child - root + 1;
      }
      x.queue_free[hole] = key;
    }
    if (makespan < last_end) makespan = last_end;
    for (int g = k.signal_begin; g < k.signal_end; ++g) {
      const int e = f.signal[g];
      if (x.event_time[e] < last_end) x.event_time[e] = last_end;
      if (partial && x.prefix_begin[e] >= 0) x.history[x.prefix_begin[e] + x.prefix_count[e]++] = x.event_time[e];
    }
  }
  s.makespan = makespan;
  detail::fill_queues(queues, s, x);
  return {};
}

/// The whole of it for constant evaluation: `constexpr auto s = schedule_fixed<queues>(flow, machine)`; a machine that
/// lacks a queue the flow needs yields `task_count` 0, which `verify` refuses.
template <int Queues, taskflow_size Size>
constexpr fixed_schedule<Size.tasks, Queues> schedule_fixed(const fixed_taskflow<Size>& f, const machine_shape& machine,
                                                            schedule_options options = {}) {
  fixed_schedule<Size.tasks, Queues> s;
  fixed_schedule_scratch<Size, Queues> x;
  if (list_schedule(f, machine, options, s, x).code != schedule_code::ok) s.task_count = 0;
  return s;
}

}  // namespace hyperparallel
