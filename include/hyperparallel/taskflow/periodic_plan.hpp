// SPDX-License-Identifier: Apache-2.0
#pragma once
// Planning a period: list-schedules a few copies, freezes what a middle one does, repeated at one of three intervals,
// and keeps what is fastest.
//
//   copy after copy     every queue finishes a copy before it begins the next
//   the observed        as far apart as the last two copies of the explicit schedule end
//   the least           the work of the busiest pool: copies overlap as far as carried waits and stages let them
//
// Fastest is the least makespan of `copies` copies by `simulate_period`; of equals the one listed first, whose slots
// turn over soonest. Law: the same plan at compile time and run time.

#include <hyperparallel/taskflow/owned.hpp>
#include <hyperparallel/taskflow/periodic_freeze.hpp>
#include <hyperparallel/taskflow/periodic_simulate.hpp>
#include <hyperparallel/taskflow/periodic_unroll.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Copies that are list-scheduled, and the one that is frozen: it has neighbours on both sides.
inline constexpr int planned_copies = 3, frozen_copy = 1;

struct period_options {
  schedule_options list{};
  std::int64_t copies = 64;  ///< how many the interval is chosen for
};

namespace detail {

/// The intervals that are tried after the copies' own length, from the explicit schedule of `planned_copies` copies.
template <class Period, class Timeline, class Work>
constexpr void candidate_intervals(const Period& p, const machine_shape& machine, const Timeline& line, Work& pool_work,
                                   std::int64_t (&interval)[3]) {
  const int tasks = p.size.tasks;
  std::int64_t last[2] = {};
  for (int c = 0; c < 2; ++c)
    for (int t = 0; t < tasks; ++t)
      if (last[c] < line.end[(frozen_copy + c) * tasks + t]) last[c] = line.end[(frozen_copy + c) * tasks + t];
  for (int q = 0, queues = queue_count(machine); q < queues; ++q) pool_work[q] = 0;
  interval[0] = last[1] + 1;
  interval[1] = last[1] > last[0] ? last[1] - last[0] : 1;
  interval[2] = 1;
  for (int t = 0; t < tasks; ++t) {
    const task k = p.task[t];
    const int pool = first_queue(machine, k.rank, k.kind), units = machine.queues[static_cast<int>(k.kind)];
    pool_work[pool] += k.duration;
    if (interval[2] < (pool_work[pool] + units - 1) / units) interval[2] = (pool_work[pool] + units - 1) / units;
  }
}

/// Freezes each candidate of the explicit schedule `e` and leaves the best in `s`.
template <class Period, class Explicit, class Timeline, class Schedule, class Freeze, class Scratch>
constexpr void freeze_best(const Period& p, const Explicit& e, const Timeline& line, const period_options& options,
                           Schedule& s, Freeze& z, Scratch& x) {
  const std::int64_t synchronisation = options.list.synchronisation;
  std::int64_t interval[3] = {}, best = 0, taken[3] = {};
  int chosen = -1, frozen = -1;
  candidate_intervals(p, e.machine, line, x.queue_free, interval);
  for (int i = 0; i < 3; ++i) {
    bool tried = false;
    taken[i] = freeze_period(p, e, line, frozen_copy, interval[i], synchronisation, s, z);
    frozen = i;
    for (int o = 0; o < i; ++o) tried = tried || taken[o] == taken[i];
    if (tried) continue;
    const std::int64_t makespan = run_copies(p, s, options.copies, true, {synchronisation, false}, x).total.makespan;
    if (chosen >= 0 && best <= makespan) continue;
    chosen = i;
    best = makespan;
  }
  if (frozen != chosen) freeze_period(p, e, line, frozen_copy, interval[chosen], synchronisation, s, z);
}

}  // namespace detail

/// Plans `p` on `machine` at run time. Domain: a period that `check_period` accepts; `s` holds its tasks and the
/// machine's queues. Failure: the first task whose rank or class the machine lacks, then `s` has no meaning.
/// Complexity: `list_schedule` and `simulate` of `planned_copies` copies and three short simulations.
template <class Schedule>
schedule_status schedule_period(const dynamic_period& p, const machine_shape& machine, const period_options& options,
                                Schedule& s) {
  const taskflow_size size = unrolled_room(p, planned_copies);
  const int queues = queue_count(machine);
  owned_taskflow f(size);
  owned_schedule e(size.tasks, queues);
  owned_schedule_scratch ranks(size, queues);
  owned_timeline line(size.tasks);
  owned_simulation_scratch clock(size, queues);
  owned_freeze_scratch z(p.size.tasks, p.size.events, queues);
  owned_periodic_scratch x(p.size, queues);
  unroll(f, p, planned_copies);
  const schedule_status status = list_schedule(f, machine, options.list, e, ranks);
  if (status.code != schedule_code::ok) return {status.code, status.task % p.size.tasks};
  simulate(f, e, {options.list.synchronisation, false}, line, clock);
  detail::freeze_best(p, e, line, options, s, z, x);
  return {};
}

/// For constant evaluation; `Period` is a variable with static storage. A machine that lacks a queue the period needs
/// yields `task_count` 0, which `verify_period` refuses.
template <const auto& Period, int Queues>
constexpr fixed_periodic_schedule<Period.size.tasks, Queues> schedule_period(const machine_shape& machine,
                                                                             const period_options& options = {}) {
  constexpr int tasks = Period.size.tasks;
  constexpr taskflow_size size = unrolled_room(Period, planned_copies);
  fixed_periodic_schedule<tasks, Queues> s;
  fixed_taskflow<size> f;
  unroll(f, Period, planned_copies);
  const fixed_schedule<size.tasks, Queues> e = schedule_fixed<Queues>(f, machine, options.list);
  if (e.task_count == 0) return s;
  const simulated<size.tasks> timed = simulate_fixed(f, e, {options.list.synchronisation, false});
  freeze_scratch<tasks, Period.size.events, Queues> z;
  periodic_scratch<tasks, Period.size.events, Period.size.signal_uses, Queues> x;
  detail::freeze_best(Period, e, timed.line, options, s, z, x);
  return s;
}

}}  // namespace hyperparallel::v0_2
