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

/// s.order = tasks by descending x.rank, ties by index. Ranks are scaled to 20 bits: a difference below 1 / 2^20 of the
/// critical path is a tie. Counting sort on digits; few tasks get small digits so that clearing the counts does not
/// dominate.
template <class Schedule, class Scratch>
constexpr void order_by_rank(int tasks, std::int64_t longest, Schedule& s, Scratch& x) {
  const int bits = tasks >= 512 ? 10 : 5, radix = 1 << bits, mask = radix - 1, top = (1 << 20) - 1;
  int shift = 0;
  while ((longest >> shift) > top) ++shift;
  for (int t = 0; t < tasks; ++t) {
    x.key[t] = top - static_cast<int>(x.rank[t] >> shift);
    s.order[t] = t;
  }
  for (int low = 0; low < 20; low += 2 * bits) {
    const int high = low + bits;
    for (int d = 0; d <= radix; ++d) x.digit[0][d] = x.digit[1][d] = 0;
    for (int t = 0; t < tasks; ++t) {
      const int key = x.key[t];
      ++x.digit[0][((key >> low) & mask) + 1];
      ++x.digit[1][((key >> high) & mask) + 1];
    }
    for (int d = 1; d < radix; ++d) {
      x.digit[0][d] += x.digit[0][d - 1];
      x.digit[1][d] += x.digit[1][d - 1];
    }
    for (int i = 0; i < tasks; ++i) {
      const int t = s.order[i];
      x.half_sorted[x.digit[0][(x.key[t] >> low) & mask]++] = t;
    }
    for (int i = 0; i < tasks; ++i) {
      const int t = x.half_sorted[i];
      s.order[x.digit[1][(x.key[t] >> high) & mask]++] = t;
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
  if (options.policy == priority::upward_rank) {
    detail::order_by_rank(tasks, detail::sweep_ranks(f, synchronisation, partial, x), s, x);
    if (partial) detail::clear_events(f, x);
    for (int e = 0, events = f.size.events; e < events; ++e) x.event_time[e] = 0;
  } else {
    for (int t = 0; t < tasks; ++t) s.order[t] = t;
  }
  s.queue_begin[queues] = 0;
  for (int rank = 0, q = 0; rank < machine.ranks; ++rank)
    for (int r = 0; r < resource_count; ++r)
      for (int unit = 0; unit < pool_queues[r]; ++unit, ++q) {
        x.queue_free[q] = unit;
        s.queue_begin[q] = 0;
      }
  std::int64_t makespan = 0;
  for (int p = 0; p < tasks; ++p) {
    const int t = s.order[p];
    const task k = f.task[t];
    const int kind = static_cast<int>(k.kind), pool = pool_queues[kind], root = k.rank * per_rank + class_begin[kind];
    if (k.rank < 0 || k.rank >= machine.ranks) return {schedule_code::rank_outside_the_machine, t};
    if (pool <= 0) return {schedule_code::no_queue_of_the_class, t};

    std::int64_t start = x.queue_free[root] / pool;
    const int unit = static_cast<int>(x.queue_free[root] % pool);
    for (int w = k.wait_begin; w < k.wait_end; ++w) {
      const int e = f.wait[w].event;
      const std::int64_t ready = synchronisation + (!partial || x.prefix_begin[e] < 0
                                                        ? x.event_time[e]
                                                        : x.history[x.prefix_begin[e] + f.wait[w].threshold - 1]);
      if (start < ready) start = ready;
    }
    const std::int64_t end = start + k.duration;
    s.queue[t] = root + unit;
    s.start[t] = start;
    ++s.queue_begin[root + unit + 1];
    if (makespan < end) makespan = end;

    // The pool's root queue is free again at `end`: sift it down.
    const std::int64_t key = end * pool + unit;
    int hole = root, child = root + 1;
    while (child < root + pool) {
      std::int64_t least = x.queue_free[child];
      if (child + 1 < root + pool && x.queue_free[child + 1] < least) least = x.queue_free[++child];
      if (key < least) break;
      x.queue_free[hole] = least;
      hole = child;
      child += child - root + 1;
    }
    x.queue_free[hole] = key;

    for (int g = k.signal_begin; g < k.signal_end; ++g) {
      const int e = f.signal[g];
      if (x.event_time[e] < end) x.event_time[e] = end;
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
