// SPDX-License-Identifier: Apache-2.0
#pragma once
// What no schedule of n copies of a period can beat, and the certificate of a periodic plan.
//
// Law: `bound` equals `bound_makespan` of the explicit flow of n copies, field by field. Work is n times that of one
// copy. A task of a later copy starts no earlier than its like in an earlier one, for it waits for the like of
// everything and for more; so heads are those of the first copy, tails those of the last, and both are those of one
// copy alone, without carried waits. The critical path is a simulation without queues, which repeats like one.
//
// Layers that follow each other have a bound that neither work nor paths see: the *chain*. Between two gates, signals
// of one event in neighbouring copies, lies all that waits for the first and that the second waits for; no pool does
// its part of that faster than head + work + tail. Law: value() <= makespan of every schedule.

#include <hyperparallel/taskflow/bounds.hpp>
#include <hyperparallel/taskflow/periodic_simulate.hpp>
#include <hyperparallel/taskflow/periodic_unroll.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// `simulated` copies gave the critical path. `chain`: all copies through the gate `gate`, an event of the period; -1
/// where no copy waits for the one before.
struct periodic_bound {
  makespan_bound bound;
  std::int64_t chain = 0;
  int gate = -1;
  std::int64_t simulated = 0;
  constexpr std::int64_t value() const { return bound.value < chain ? chain : bound.value; }
  friend constexpr bool operator==(const periodic_bound&, const periodic_bound&) = default;
};

namespace detail {

/// Copy after copy in reference order, for a sweep that looks at no queue.
struct reference_schedule {
  struct identity {
    constexpr int operator[](int t) const { return t; }
  };
  struct zero {
    constexpr int operator[](int) const { return 0; }
  };
  machine_shape machine{};
  int stages = 1;
  identity order{};
  zero stage{}, queue{};
};

/// The event that most tasks of the next copy wait for, -1: none.
template <class Period, class Counts>
constexpr int widest_gate(const Period& p, Counts& waiting) {
  int widest = -1;
  for (int e = 0; e < p.size.events; ++e) waiting[e] = 0;
  for (int r = 0; r < p.size.runs; ++r) {
    const task k = p.task[p.run[r]];
    for (int w = k.wait_begin; w < k.wait_end; ++w) {
      const int number = p.wait[w].event + k.first_event, e = own_number(number);
      if (distance_of(number) != 1) continue;
      waiting[e] += p.run[r + 1] - p.run[r];
      if (widest < 0 || waiting[widest] < waiting[e]) widest = e;
    }
  }
  return widest;
}

/// Least time from the moment that waits for `gate` of one copy are released until it has all signals of the next; what
/// lies between is what waits for totals reach from both; -1 where nothing does. Leaves nothing of the scratch as it
/// was.
template <class Period, class Ranks, class Scratch>
constexpr std::int64_t between_gates(const Period& p, const machine_shape& machine, int gate,
                                     std::int64_t synchronisation, Ranks& ranks, Scratch& x) {
  const int runs = p.size.runs, queues = queue_count(machine);
  for (int e = 0; e < p.size.events; ++e) ranks.event_time[e] = x.event_time[e] = -1;
  for (int r = 0; r < runs; ++r) {
    const task k = p.task[p.run[r]];
    std::int64_t head = -1;
    for (int w = k.wait_begin; w < k.wait_end; ++w) {
      const int number = p.wait[w].event + k.first_event;
      if (number == carried(gate) && head < 0) head = 0;
      if (number >= carried_step || p.wait[w].threshold != p.event[number].signals || ranks.event_time[number] < 0)
        continue;
      if (head < ranks.event_time[number] + synchronisation) head = ranks.event_time[number] + synchronisation;
    }
    ranks.rank[r] = head;
    for (int g = k.signal_begin; g < k.signal_end && head >= 0; ++g) {
      const int e = p.signal[g] + k.first_event;
      if (ranks.event_time[e] < head + k.duration) ranks.event_time[e] = head + k.duration;
    }
  }
  for (int q = 0; q < queues; ++q) ranks.queue_free[q] = 0;
  std::int64_t least = -1;
  x.event_time[gate] = 0;
  for (int r = runs - 1; r >= 0; --r) {
    const task k = p.task[p.run[r]];
    std::int64_t tail = -1;
    for (int g = k.signal_begin; g < k.signal_end; ++g)
      if (tail < x.event_time[p.signal[g] + k.first_event]) tail = x.event_time[p.signal[g] + k.first_event];
    if (tail < 0) continue;
    for (int w = k.wait_begin; w < k.wait_end; ++w) {
      const int number = p.wait[w].event + k.first_event;
      if (number >= carried_step || p.wait[w].threshold != p.event[number].signals) continue;
      if (x.event_time[number] < tail + k.duration + synchronisation)
        x.event_time[number] = tail + k.duration + synchronisation;
    }
    const std::int64_t head = ranks.rank[r];
    if (head < 0) continue;
    if (least < head + k.duration + tail) least = head + k.duration + tail;
    if (k.duration == 0) continue;
    const int pool = first_queue(machine, k.rank, k.kind);
    if (ranks.queue_free[pool] == 0 || head < ranks.pool_head[pool]) ranks.pool_head[pool] = head;
    if (ranks.queue_free[pool] == 0 || tail < ranks.pool_tail[pool]) ranks.pool_tail[pool] = tail;
    ranks.queue_free[pool] += (p.run[r + 1] - p.run[r]) * k.duration;
  }
  for (int rank = 0; rank < machine.ranks; ++rank)
    for (int r = 0; r < resource_count; ++r) {
      const int pool = first_queue(machine, rank, static_cast<resource>(r)), units = machine.queues[r];
      if (units <= 0 || ranks.queue_free[pool] == 0) continue;
      const std::int64_t all =
          ranks.pool_head[pool] + (ranks.queue_free[pool] + units - 1) / units + ranks.pool_tail[pool];
      if (least < all) least = all;
    }
  return least;
}

}  // namespace detail

/// Domain: a period that `check_period` accepts, on a machine that has a queue for each of its tasks; `one` has room
/// for one copy, `ranks` is scratch for one copy. Complexity: that of `bound_makespan` of one copy, and O(tasks + waits
/// + signals) for each copy that the critical path needs.
template <class Period, class Flow, class Ranks, class Scratch>
constexpr periodic_bound bound_period(const Period& p, const machine_shape& machine, std::int64_t copies,
                                      std::int64_t synchronisation, Flow& one, Ranks& ranks, Scratch& x) {
  unroll(one, p, 1);
  periodic_bound found;
  if (copies <= 0) return found;
  makespan_bound b = bound_makespan(one, machine, synchronisation, ranks);
  const periodic_simulation path =
      detail::run_copies(p, detail::reference_schedule{}, copies, false, {synchronisation, false}, x);
  found.simulated = path.simulated;
  b.value = b.critical_path = path.total.makespan;
  b.work = b.head_work_tail = 0;
  b.rank = -1;
  b.kind = resource::aic;
  detail::bound_pools(machine, copies, ranks, b);
  found.bound = b;
  const int gate = detail::widest_gate(p, x.count);
  const std::int64_t between = gate < 0 ? -1 : detail::between_gates(p, machine, gate, synchronisation, ranks, x);
  if (between < 0) return found;
  found.gate = gate;
  found.chain = copies * between + (copies - 1) * synchronisation;
  return found;
}

/// For constant evaluation; `Period` is a variable with static storage. Runs of a stamped pattern share their lists, so
/// the explicit copy has a size of its own.
template <const auto& Period, int Queues>
constexpr periodic_bound bound_period(const machine_shape& machine, std::int64_t copies,
                                      std::int64_t synchronisation = 0) {
  constexpr taskflow_size size = unrolled_room(Period, 1);
  fixed_taskflow<size> one;
  fixed_schedule_scratch<size, Queues> ranks;
  fixed_periodic_scratch<size, Queues> x;
  return bound_period(Period, machine, copies, synchronisation, one, ranks, x);
}

}}  // namespace hyperparallel::v0_2
