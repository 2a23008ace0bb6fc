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

#include <hyperparallel/support/array_bound.hpp>
#include <hyperparallel/taskflow/schedule_options.hpp>
#include <hyperparallel/taskflow/upward_rank.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// sorted = runs by descending rank, ties by index; `rank` counts runs from the last. Ranks are scaled to 20 bits: a
/// difference below 1 / 2^20 of the critical path is a tie. Radix sort by chains of equal digits: a run is put in front
/// of its chain, so a pass reverses what it is given and two of them keep order. Few runs get small digits so that
/// clearing the heads does not dominate.
template <class Ranks, class Runs>
constexpr void order_by_rank(int runs, std::int64_t longest, const Ranks& rank, Runs& next, Runs& sorted) {
  const int bits = runs >= 512 ? 10 : 5, radix = 1 << bits, mask = radix - 1, last = runs - 1;
  int low[1024] = {}, high[1024] = {};
  int shift = 0, digit = 0, run = 0, place = 0;
  while ((longest >> shift) >= 1 << 20) shift += 1;
  for (int sorted_bits = 0; sorted_bits < 20; sorted_bits += 2 * bits) {
    for (int d = 0; d < radix; ++d) low[d] = high[d] = -1;
    for (int i = 0; i < runs; ++i) {
      run = sorted_bits == 0 ? i : sorted[i];
      digit = static_cast<int>(rank[last - run] >> shift) & mask;
      next[run] = low[digit];
      low[digit] = run;
    }
    shift += bits;
    for (int d = 0, after = 0; d < radix; ++d)
      for (run = low[d]; run >= 0; run = after) {
        after = next[run];
        digit = static_cast<int>(rank[last - run] >> shift) & mask;
        next[run] = high[digit];
        high[digit] = run;
      }
    shift += bits;
    place = 0;
    for (int d = mask; d >= 0; --d)
      for (run = high[d]; run >= 0; run = next[run]) {
        sorted[place] = run;
        place = place + 1;
      }
  }
}

/// queue_begin and queue_task from the chains of each queue's positions in `order`, which begin at queue_begin.
template <class Schedule, class Positions>
constexpr void fill_queues(int queues, Schedule& s, const Positions& next) {
  int place = 0, p = 0;
  for (int q = 0; q < queues; ++q) {
    p = s.queue_begin[q];
    s.queue_begin[q] = place;
    for (; p >= 0; p = next[p]) {
      s.queue_task[place] = s.order[p];
      place = place + 1;
    }
  }
  s.queue_begin[queues] = place;
}

/// Empty queues, free at once; rings in the order of the queues.
template <class Schedule, class Free, class Ring, class Front, class Last>
constexpr void clear_queues(int queues, Schedule& s, Free& queue_free, Ring& ring, Front& ring_front,
                            Last& queue_last) {
  for (int q = 0; q < queues; ++q) {
    queue_free[q] = 0;
    ring[q] = q;
    ring_front[q] = q;
    queue_last[q] = s.queue_begin[q] = -1;
  }
}

/// Places tiles [first, past) of a run, which are ready at one time and take as long each, on the queues [root, beyond)
/// of their pool. `p`: the place in `order` of the first. Returns when the last ends. The queue at the back of the ring is free last, and no tile ends before the one in front of it.
template <class Schedule, class Next, class Free, class Ring, class Front, class Last>
constexpr std::int64_t place_tiles(int first, int past, std::int64_t ready, std::int64_t duration, int root, int beyond,
                                   int p, Schedule& s, Next& next, Free& queue_free, Ring& ring, Front& ring_front,
                                   Last& queue_last) {
  // Declared once: clang pays for a declaration as much as for three statements.
  std::int64_t start = 0, end = 0, latest = 0;
  int q = 0, hole = 0, before = 0, other = 0, front = ring_front[root];
  int back = ring[front > root ? front - 1 : beyond - 1];
  latest = queue_free[back];
  for (int t = first; t < past; t = t + 1) {
    q = ring[front];
    start = queue_free[q];
    if (start < ready) start = ready;
    end = start + duration;
    s.order[p] = t;
    s.queue[t] = q;
    next[p] = -1;
    before = queue_last[q];
    if (before < 0) {
      s.queue_begin[q] = p;
    } else {
      next[before] = p;
    }
    queue_last[q] = p;
    p = p + 1;
    queue_free[q] = end;

    // From the front of the ring to its end, that is one place back, and on past the queues that are free later.
    if (latest < end || (latest == end && back < q)) {
      back = q;
      latest = end;
    } else if (back != q) {
      for (hole = front;; hole = before) {
        before = hole > root ? hole - 1 : beyond - 1;
        if (before == front) break;
        other = ring[before];
        if (queue_free[other] < end || (queue_free[other] == end && other < q)) break;
        ring[hole] = other;
      }
      ring[hole] = q;
    }
    front = front + 1;
    if (front == beyond) front = root;
  }
  ring_front[root] = front;
  return end;
}

/// `list_schedule` with the arrays of the scratch that it writes most as arguments of their own: an element of an array
/// that is no member costs a constant evaluation half.
template <class Flow, class Schedule, class Scratch, class EventTimes, class Ranks, class Next, class Sorted,
          class Free, class Ring, class Front, class Last>
constexpr schedule_status schedule_tasks(const Flow& f, const machine_shape& machine, schedule_options options,
                                         Schedule& s, Scratch& x, EventTimes& event_time, Ranks& run_rank, Next& next,
                                         Sorted& sorted, Free& queue_free, Ring& ring, Front& ring_front,
                                         Last& queue_last) {
  const int tasks = f.size.tasks, per_rank = queues_per_rank(machine), queues = queue_count(machine);
  const std::int64_t synchronisation = options.synchronisation;
  s.machine = machine;
  s.task_count = tasks;
  if (options.policy == priority::listed_queues) return list_queues(f, machine, s, queue_last);
  int class_begin[resource_count] = {}, pool_queues[resource_count] = {};
  for (int r = 0; r < resource_count; ++r) {
    class_begin[r] = first_queue(machine, 0, static_cast<resource>(r));
    pool_queues[r] = machine.queues[r];
  }
  const bool partial = waits_in_part(f), ranked = options.policy == priority::upward_rank;
  const int runs = partial ? tasks : f.size.runs;
  clear_events(f, partial, event_time, x);
  if (ranked) {
    order_by_rank(runs, sweep_ranks(f, synchronisation, partial, event_time, run_rank, x), run_rank, next, sorted);
    clear_events(f, partial, event_time, x);
  }
  clear_queues(queues, s, queue_free, ring, ring_front, queue_last);
  if constexpr (fills_before_scattering)
    for (int t = 0; t < tasks; ++t) s.queue[t] = 0;
  std::int64_t makespan = 0;
  for (int i = 0, p = 0; i < runs; ++i) {
    const int r = ranked ? sorted[i] : i, first = partial ? r : f.run[r], past = partial ? r + 1 : f.run[r + 1];
    const task k = f.task[first];
    const int kind = static_cast<int>(k.kind), pool = pool_queues[kind], root = k.rank * per_rank + class_begin[kind];
    if (k.rank < 0 || k.rank >= machine.ranks) return {schedule_code::rank_outside_the_machine, first};
    if (pool <= 0) return {schedule_code::no_queue_of_the_class, first};

    // What a run waits for has happened before its first tile starts, so one look serves all tiles.
    std::int64_t ready = 0;
    for (int w = k.wait_begin; w < k.wait_end; ++w) {
      const int e = f.wait[w].event + k.first_event;
      const std::int64_t due =
          synchronisation +
          (!partial || x.prefix_begin[e] < 0 ? event_time[e] : x.history[x.prefix_begin[e] + f.wait[w].threshold - 1]);
      if (ready < due) ready = due;
    }
    const std::int64_t end = place_tiles(first, past, ready, k.duration, root, root + pool, p, s, next, queue_free,
                                         ring, ring_front, queue_last);
    p = p + past - first;
    if (makespan < end) makespan = end;
    for (int g = k.signal_begin; g < k.signal_end; ++g) {
      const int e = f.signal[g] + k.first_event;
      if (event_time[e] < end) event_time[e] = end;
      if (partial && x.prefix_begin[e] >= 0) x.history[x.prefix_begin[e] + x.prefix_count[e]++] = event_time[e];
    }
  }
  s.makespan = makespan;
  fill_queues(queues, s, next);
  return {};
}

}  // namespace detail

/// Schedules `f` on `machine`. Domain: a flow that `check_flow` accepts; `s` and `x` hold the flow's tasks and the
/// machine's queues. Failure: the first task whose rank or class the machine lacks; then `s` has no meaning.
/// Complexity: O(tasks + waits + signals) and, for each task, the queues of its pool that are free later than its own:
/// tasks come in rank order, so few are; all of them at worst. Source: HEFT's ranks and order, without insertion.
template <class Flow, class Schedule, class Scratch>
constexpr schedule_status list_schedule(const Flow& f, const machine_shape& machine, schedule_options options,
                                        Schedule& s, Scratch& x) {
  return detail::schedule_tasks(f, machine, options, s, x, x.event_time, x.run_rank, x.next, x.sorted, x.queue_free,
                                x.ring, x.ring_front, x.queue_last);
}

/// The whole of it for constant evaluation: `constexpr auto s = schedule_fixed<queues>(flow, machine)`; a machine that
/// lacks a queue the flow needs yields `task_count` 0, which `verify` refuses.
template <int Queues, taskflow_size Size>
constexpr fixed_schedule<Size.tasks, Queues> schedule_fixed(const fixed_taskflow<Size>& f, const machine_shape& machine,
                                                            schedule_options options = {}) {
  fixed_schedule<Size.tasks, Queues> s;
  detail::fixed_schedule_scratch<Size, Queues> x;
  std::int64_t event_time[detail::array_bound(Size.events + 1)] = {},
                                                            run_rank[detail::array_bound(Size.tasks + 1)] = {},
                                                            queue_free[detail::array_bound(Queues + 1)] = {};
  int next[detail::array_bound(Size.tasks + 1)] = {}, sorted[detail::array_bound(Size.tasks + 1)] = {};
  int ring[detail::array_bound(Queues + 1)] = {}, ring_front[detail::array_bound(Queues + 1)] = {},
                                        queue_last[detail::array_bound(Queues + 1)] = {};
  if (detail::schedule_tasks(f, machine, options, s, x, event_time, run_rank, next, sorted, queue_free, ring,
                             ring_front, queue_last)
          .code != schedule_code::ok)
    s.task_count = 0;
  return s;
}

}}  // namespace hyperparallel::v0_2
