// SPDX-License-Identifier: Apache-2.0
#pragma once
// The makespan of any number of copies of a period from a bounded number of simulated ones.
//
// Within an iteration every start is the greatest of sums of earlier ends, so the ends of the last few iterations
// decide all later ones, and adding a constant to those adds it to these. If, for long enough, every task ends exactly
// `gain` later than `every` iterations before, that goes on up to the epilogue: whole multiples of `every` copies are
// then left out and their gain is added. Long enough is as many iterations as a wait looks back, followed by none that
// lacks a wait.
//
// Law: the makespan equals that of `simulate` on the explicit flow of so many copies, exactly, whether it repeats or
// not; where it does not, all copies are simulated. Source: cyclicity of max-plus linear systems (Baccelli et al.,
// Synchronization and Linearity, 1992).

#include <hyperparallel/taskflow/periodic_schedule.hpp>
#include <hyperparallel/taskflow/simulate.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The longest repetition that is looked for, in iterations: buffers of b banks make it up to b.
inline constexpr int most_repeated = 4;

/// `total` is of all copies: makespan and busy times. `every` 0: no repetition was seen, `simulated` is all copies.
struct periodic_simulation {
  simulation_result total;
  std::int64_t simulated = 0;  ///< copies
  int every = 0;               ///< copies after which the timeline repeats
  std::int64_t gain = 0;       ///< picoseconds that so many copies take then
  friend constexpr bool operator==(const periodic_simulation&, const periodic_simulation&) = default;
};

/// Rings of rows, one for each copy that some wait may still look at.
template <int Tasks, int Events, int SignalUses, int Queues>
struct periodic_scratch {
  static constexpr int rows = most_carried + most_stages;
  static constexpr int rings = most_repeated + 1;
  scratch_array<std::int64_t, Queues> queue_free = {};
  scratch_array<std::int64_t, (Events < 0 ? Events : Events * rows)> event_time = {};
  scratch_array<int, (Events < 0 ? Events : Events * rows)> count = {};  ///< signals, of events waited for in part
  scratch_array<int, Events> prefix_begin = {};                          ///< as in schedule_scratch
  scratch_array<std::int64_t, (SignalUses < 0 ? SignalUses : SignalUses * rows)> history = {};
  scratch_array<std::int64_t, (Tasks < 0 ? Tasks : Tasks * rings)> end = {};  ///< of the last iterations
};

template <taskflow_size Size, int Queues>
using fixed_periodic_scratch = periodic_scratch<Size.tasks, Size.events, signal_room(Size), Queues>;
using dynamic_periodic_scratch = periodic_scratch<run_time_count, run_time_count, run_time_count, run_time_count>;

struct owned_periodic_scratch : dynamic_periodic_scratch {
  owned_periodic_scratch(const taskflow_size& n, int queues) {
    queue_free = memory.take<std::int64_t>(queues);
    event_time = memory.take<std::int64_t>(n.events * rows);
    count = memory.take<int>(n.events * rows);
    prefix_begin = memory.take<int>(n.events);
    history = memory.take<std::int64_t>(n.signal_uses * rows);
    end = memory.take<std::int64_t>(n.tasks * rings);
  }
  scratch_memory memory;
};

namespace detail {

/// How many iterations a wait looks back at most, given the tasks' stages: at least 1, for a queue looks at the last.
template <class Period, class Schedule>
constexpr int reach(const Period& p, const Schedule& s) {
  return greatest_distance(p) + s.stages - 1 > 1 ? greatest_distance(p) + s.stages - 1 : 1;
}

/// Gives every event that is waited for in part a range of `history`; returns whether there is one.
template <class Period, class Scratch>
constexpr bool number_histories(const Period& p, Scratch& x) {
  for (int e = 0; e < p.size.events; ++e) x.prefix_begin[e] = -1;
  int used = 0;
  if (p.thresholds == 0) return false;
  for (int r = 0; r < p.size.runs; ++r) {
    const task k = p.task[p.run[r]];
    for (int w = k.wait_begin; w < k.wait_end; ++w) {
      const int e = own_number(p.wait[w].event + k.first_event);
      if (p.wait[w].threshold == p.event[e].signals || x.prefix_begin[e] >= 0) continue;
      x.prefix_begin[e] = used;
      used += p.event[e].signals;
    }
  }
  return used > 0;
}

/// How the ends of iteration `now` differ from those of `before`: one amount for all tasks, or -1.
template <class Ends>
constexpr std::int64_t common_gain(int tasks, const Ends& end, int now, int before) {
  const int a = now * tasks, b = before * tasks;
  if (tasks == 0) return -1;
  const std::int64_t gain = end[a] - end[b];
  for (int t = tasks - 1; t > 0; --t)
    if (end[a + t] - end[b + t] != gain) return -1;
  return gain;
}

/// Runs `copies` copies in the schedule's order. `limited`: queues run one task at a time; otherwise a task waits for
/// events alone, and for earlier signallers of an event that is waited for in part, as `upward_ranks` has it.
template <class Period, class Schedule, class Scratch>
constexpr periodic_simulation run_copies(const Period& p, const Schedule& s, std::int64_t copies, bool limited,
                                         simulation_options options, Scratch& x) {
  constexpr int rings = most_repeated + 1;
  const int tasks = p.size.tasks, events = p.size.events, uses = p.size.signal_uses, stages = s.stages;
  const int distance = greatest_distance(p), rows = distance + stages, looks = reach(p, s);
  const bool partial = number_histories(p, x);
  const std::int64_t synchronisation = options.synchronisation;
  periodic_simulation found;
  std::int64_t gains[rings] = {}, passed_over = 0, makespan = 0;
  int alike[rings] = {};
  for (int q = 0, queues = queue_count(s.machine); limited && q < queues; ++q) x.queue_free[q] = 0;
  std::int64_t start = 0, end = 0, ready = 0;
  int t = 0, q = 0, row = 0, e = 0, from = 0, number = 0;
  for (std::int64_t i = 0; i < copies + stages - 1; ++i) {
    const int iteration_row = static_cast<int>(i % rows), ring = static_cast<int>(i % rings);
    if (i < copies)
      for (int c = iteration_row * events, past = c + events; c < past; ++c) x.event_time[c] = x.count[c] = 0;
    for (int place = 0; place < tasks; ++place) {
      t = s.order[place];
      const int stage = s.stage[t];
      if (i < stage || i - stage >= copies) continue;
      row = iteration_row - stage;
      if (row < 0) row += rows;
      const task k = p.task[t];
      start = 0;
      if (limited) {
        q = s.queue[t];
        start = x.queue_free[q];
      }
      for (int w = k.wait_begin; w < k.wait_end; ++w) {
        const wait u = p.wait[w];
        number = u.event + k.first_event;
        e = own_number(number);
        from = row;
        if (number >= carried_step) {
          if (i - stage < distance_of(number)) continue;
          from -= distance_of(number);
          if (from < 0) from += rows;
        }
        ready = synchronisation + (!partial || x.prefix_begin[e] < 0 || u.threshold == p.event[e].signals
                                       ? x.event_time[from * events + e]
                                       : x.history[from * uses + x.prefix_begin[e] + u.threshold - 1]);
        if (start < ready) start = ready;
      }
      if (partial && !limited)
        for (int g = k.signal_begin; g < k.signal_end; ++g) {
          e = p.signal[g] + k.first_event;
          if (x.prefix_begin[e] >= 0 && start < x.event_time[row * events + e]) start = x.event_time[row * events + e];
        }
      end = start + (options.free_communication && k.kind == resource::link ? 0 : k.duration);
      x.end[ring * tasks + t] = end;
      if (limited) x.queue_free[q] = end;
      if (makespan < end) makespan = end;
      for (int g = k.signal_begin; g < k.signal_end; ++g) {
        e = p.signal[g] + k.first_event;
        from = row * events + e;
        if (x.event_time[from] < end) x.event_time[from] = end;
        if (partial && x.prefix_begin[e] >= 0) {
          x.history[row * uses + x.prefix_begin[e] + x.count[from]] = x.event_time[from];
          x.count[from] += 1;
        }
      }
    }
    for (int every = 1; found.every == 0 && i < copies && every <= most_repeated && i - every >= stages - 1; ++every) {
      const std::int64_t gain = common_gain(tasks, x.end, ring, (ring + rings - every) % rings);
      alike[every] = gain < 0 ? 0 : alike[every] > 0 && gains[every] == gain ? alike[every] + 1 : 1;
      gains[every] = gain;
      if (alike[every] < looks || i - every + 1 < distance + stages - 1) continue;
      const std::int64_t times = (copies - 1 - i) / every;
      found.every = every;
      found.gain = gain;
      passed_over = times * gain;
      copies -= times * every;
    }
  }
  found.simulated = copies;
  found.total.makespan = makespan + passed_over;
  return found;
}

}  // namespace detail

/// `copies` copies as `s` orders them. Domain: a plan that `verify_period` accepts. Complexity: O(tasks + waits +
/// signals) for each simulated copy; these are the stages, the distance of carried waits, the transient and the
/// repetition, whatever `copies` is.
template <class Period, class Schedule, class Scratch>
constexpr periodic_simulation simulate_period(const Period& p, const Schedule& s, std::int64_t copies,
                                              simulation_options options, Scratch& x) {
  periodic_simulation found = detail::run_copies(p, s, copies, true, options, x);
  for (int t = 0; t < p.size.tasks; ++t)
    if (!options.free_communication || p.task[t].kind != resource::link)
      found.total.busy[static_cast<int>(p.task[t].kind)] += copies * p.task[t].duration;
  return found;
}

/// For constant evaluation.
template <taskflow_size Size, int Queues>
constexpr periodic_simulation simulate_period(const fixed_period<Size>& p,
                                              const fixed_periodic_schedule<Size.tasks, Queues>& s, std::int64_t copies,
                                              simulation_options options = {}) {
  fixed_periodic_scratch<Size, Queues> x;
  return simulate_period(p, s, copies, options, x);
}

}}  // namespace hyperparallel::v0_2
