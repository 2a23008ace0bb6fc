// SPDX-License-Identifier: Apache-2.0
#pragma once
// Periods that the tests of periodic schedules share: a layer with two sets of buffers, and random ones.

#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include <hyperparallel/taskflow/periodic_bounds.hpp>
#include <hyperparallel/taskflow/periodic_expand.hpp>
#include <hyperparallel/taskflow/periodic_flow.hpp>
#include <hyperparallel/taskflow/periodic_plan.hpp>
#include <hyperparallel/taskflow/periodic_verify.hpp>

#include <hyperparallel/taskflow/pattern.hpp>

#include "flows.hpp"

namespace taskflow_test {

/// A layer: weights are prefetched into one of `banks` buffers while earlier layers compute, four tiles turn the
/// activations of the layer before into those of this one, and a vector task normalises them.
struct prefetched_layer {
  int banks = 2;           ///< of the weight buffer
  int event_banks = 2;     ///< counters of each event
  bool guards = true;      ///< the prefetch waits until its buffer is free
  bool takes_over = true;  ///< the tiles wait for the layer before

  template <class Flow>
  constexpr void operator()(Flow& f) const {
    using enum hp::access_mode;
    const int loaded = hp::add_event(f, 0), tiled = hp::add_event(f, 0), done = hp::add_event(f, 0);
    const int weights = hp::add_banked_slot(f, 0, 0, 0, 64, banks, 64);
    const int tiles = hp::add_slot(f, 0, 0, 512, 64), x = hp::add_slot(f, 0, 0, 576, 64);
    hp::bank_events(f, event_banks);
    hp::add_task(f, hp::resource::link, 0, 90, 0, 0);
    if (guards) hp::add_wait(f, hp::carried(tiled, 2));
    hp::add_signal(f, loaded);
    hp::add_access(f, weights, 0, 64, write);
    hp::task_draft d;
    d.task.kind = hp::resource::aic;
    d.task.duration = 50;
    d.task.operation = 1;
    d.waits = takes_over ? 2 : 1;
    d.wait[0] = {loaded, hp::all_signals};
    d.wait[1] = {hp::carried(done), hp::all_signals};
    d.signals = 1;
    d.signal[0] = tiled;
    d.accesses = 3;
    d.access[0] = {weights, 0, 64, read};
    d.access[1] = {x, 0, 64, read};
    d.access[2] = {tiles, 0, 8, write, 8};
    hp::append(f, d, 4);
    hp::add_task(f, hp::resource::aiv, 0, 20, 2, 0);
    hp::add_wait(f, tiled);
    hp::add_signal(f, done);
    hp::add_access(f, tiles, 0, 32, read);
    hp::add_access(f, x, 0, 64, write);
  }
};

inline constexpr hp::machine_shape small_machine{1, {2, 1, 1, 0, 0}};
inline constexpr int small_queues = 4;

/// A period as lists; numbers of waits and accesses may be carried.
struct loose_period {
  int events = 0, event_banks = 1;
  std::vector<int> banks;  ///< of each named slot
  std::vector<loose_task> task;

  /// Slot numbers of `task` count named slots; here they become those of first banks.
  int first_bank(int named) const {
    int first = 0;
    for (int s = 0; s < named; ++s) first += banks[static_cast<std::size_t>(s)];
    return first;
  }
  template <class Flow>
  void operator()(Flow& f) const {
    for (int e = 0; e < events; ++e) hp::add_event(f, 0);
    for (std::size_t s = 0; s < banks.size(); ++s)
      hp::add_banked_slot(f, 0, 0, 64 * first_bank(static_cast<int>(s)), 64, banks[s], 64);
    hp::bank_events(f, event_banks);
    int item = 0;
    for (const loose_task& k : task) {
      hp::add_task(f, k.kind, k.rank, k.duration, 0, item++);
      for (const hp::wait& w : k.waits) hp::add_wait(f, w.event, w.threshold);
      for (const int e : k.signals) hp::add_signal(f, e);
      for (const hp::access& a : k.accesses)
        hp::add_access(f, hp::carried(first_bank(hp::own_number(a.slot)), hp::distance_of(a.slot)), a.begin, a.end,
                       a.mode);
    }
  }
};

struct sealed_period : hp::owned_period {
  template <class Build>
  explicit sealed_period(const Build& build) : hp::owned_period(hp::measure(build)) {
    build(*this);
    hp::seal_period(*this);
  }
};

/// Gives every event a payload of its own that outlasts eight copies: each signaller writes its unit, each wait reads
/// what it waits for. A wait that is released too early then meets a write, so the exact checker sees it.
inline void add_payloads(loose_period& p) {
  const int first = static_cast<int>(p.banks.size());
  for (int e = 0; e < p.events; ++e) p.banks.push_back(8);
  std::vector<int> signals(static_cast<std::size_t>(p.events));
  for (loose_task& k : p.task) {
    for (const hp::wait& w : k.waits) {
      const int units = w.threshold == hp::all_signals ? 32 : w.threshold;
      k.accesses.push_back({first + w.event, 0, units, hp::access_mode::read});
    }
    for (const int e : k.signals) {
      const int unit = signals[static_cast<std::size_t>(e)]++;
      k.accesses.push_back({first + e, unit, unit + 1, hp::access_mode::write});
    }
  }
}

/// How many cases of a random test run: a tenth of those asked for, all with HYPERPARALLEL_EXHAUSTIVE set.
inline int random_cases(int all) { return std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? all : all / 10; }

/// A random period on `small_machine`. Conflicts, between copies too, are guarded by waits but for one in `gaps`; half
/// of the periods have a first task that waits for all of an earlier copy and releases all of its own, so that counters
/// can be used again.
inline loose_period random_period(std::mt19937& random, int tasks, int gaps) {
  loose_period p;
  p.events = tasks + 1;  // one each, and the link's progress word
  p.event_banks = 1 + below(random, 3);
  for (int s = 1 + below(random, 3); s > 0; --s) p.banks.push_back(1 + below(random, 3));
  const bool gated = below(random, 2) == 0;
  const int gate = 1 + below(random, p.event_banks);
  int sent = 0;
  for (int t = 0; t < tasks; ++t) {
    loose_task k;
    k.kind = static_cast<hp::resource>(below(random, 3));
    k.duration = below(random, 9);
    for (int u = below(random, 3); u > 0; --u) {
      const int begin = below(random, 3), slot = below(random, static_cast<int>(p.banks.size()));
      k.accesses.push_back({hp::carried(slot, below(random, 4) == 0 ? 1 : 0), begin, begin + 1 + below(random, 2),
                            below(random, 2) == 0 ? hp::access_mode::write : hp::access_mode::read});
    }
    if (gated && t > 0) k.waits.push_back({0, hp::all_signals});
    if (sent > 0 && below(random, 4) == 0) k.waits.push_back({tasks, 1 + below(random, sent)});
    // A task without accesses may join the event of the task before.
    k.signals.push_back(t > 1 && k.accesses.empty() && below(random, 3) > 0 ? p.task.back().signals[0] : t);
    if (k.kind == hp::resource::link) {
      k.signals.push_back(tasks);
      ++sent;
    }
    p.task.push_back(k);
  }
  for (int t = 0; t < tasks; ++t) {
    loose_task& k = p.task[static_cast<std::size_t>(t)];
    for (int back = 0; back <= 3; ++back)
      for (int o = 0; o < (back == 0 ? t : tasks); ++o) {
        const loose_task& other = p.task[static_cast<std::size_t>(o)];
        bool meets = false;
        for (const hp::access& a : k.accesses)
          for (const hp::access& b : other.accesses) {
            const int slot = hp::own_number(a.slot), banks = p.banks[static_cast<std::size_t>(slot)];
            const int apart = back - hp::distance_of(a.slot) + hp::distance_of(b.slot);
            meets =
                meets || (slot == hp::own_number(b.slot) && apart % banks == 0 && back <= banks && a.begin < b.end &&
                          b.begin < a.end && (a.mode == hp::access_mode::write || b.mode == hp::access_mode::write));
          }
        if (meets && gaps > 0 && below(random, gaps) == 0) continue;
        const int e = other.signals[0];
        bool complete = true;  // all its signallers come before
        for (int later = t; back == 0 && later < tasks; ++later)
          complete = complete && p.task[static_cast<std::size_t>(later)].signals[0] != e;
        if (complete && (meets || below(random, 20) == 0 || (gated && t == 0 && back == gate)))
          k.waits.push_back({hp::carried(e, back), hp::all_signals});
      }
  }
  return p;
}

/// A period and its plan at run time.
struct planned_period {
  template <class Build>
  explicit planned_period(const Build& build, std::int64_t synchronisation = 0,
                          hp::priority policy = hp::priority::upward_rank,
                          const hp::machine_shape& machine = small_machine)
      : period(build), schedule(period.size.tasks, hp::queue_count(machine)) {
    status = hp::schedule_period(period, machine, {{policy, synchronisation}, 64}, schedule);
  }
  hp::periodic_simulation simulated(std::int64_t copies, std::int64_t synchronisation = 0) const {
    hp::owned_periodic_scratch x(period.size, hp::queue_count(schedule.machine));
    return hp::simulate_period(period, schedule, copies, {synchronisation, false}, x);
  }
  hp::periodic_bound bound(std::int64_t copies, std::int64_t synchronisation = 0) const {
    const hp::taskflow_size size = hp::unrolled_room(period, 1);
    hp::owned_taskflow one(size);
    hp::owned_schedule_scratch ranks(size, hp::queue_count(schedule.machine));
    hp::owned_periodic_scratch x(period.size, hp::queue_count(schedule.machine));
    return hp::bound_period(period, schedule.machine, copies, synchronisation, one, ranks, x);
  }
  sealed_period period;
  hp::owned_periodic_schedule schedule;
  hp::schedule_status status;
};

}  // namespace taskflow_test
