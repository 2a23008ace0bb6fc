// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writing a taskflow: events and slots first, then tasks in reference order, each with its waits, signals, accesses.
//
// Every function works on any storage, so one builder is run twice: once on `counting_taskflow` to size, once to fill.
// Law: measure(build) == the size of the flow that the same `build` fills.

#include <hyperparallel/taskflow/storage.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Adds `count` events that live on `rank`; returns the first one's number.
template <class Flow>
constexpr int add_event(Flow& f, int rank, int count = 1) {
  const int first = f.size.events;
  if constexpr (Flow::stores)
    for (int e = first; e < first + count; ++e) f.event[e] = {rank, 0};
  f.size.events = first + count;
  return first;
}

/// Adds `count` slots of `bytes` at `offset` of `tier` on `rank`, each `stride` bytes behind the one before; returns
/// the first one's number.
template <class Flow>
constexpr int add_slot(Flow& f, int rank, int tier, std::int64_t offset, std::int64_t bytes, int count = 1,
                       std::int64_t stride = 0) {
  const int first = f.size.slots;
  if constexpr (Flow::stores)
    for (int s = first; s < first + count; ++s, offset += stride) f.slot[s] = {rank, tier, offset, bytes};
  f.size.slots = first + count;
  return first;
}

/// Adds a task of `duration` picoseconds, a run of its own; the add_wait, add_signal and add_access that follow belong
/// to it.
template <class Flow>
constexpr int add_task(Flow& f, resource kind, int rank, std::int64_t duration, int operation, int item) {
  const int t = f.size.tasks++, r = f.size.runs++;
  if constexpr (Flow::stores) {
    f.task[t] = {kind,         rank,           duration,       operation,       item,           f.size.waits,
                 f.size.waits, f.size.signals, f.size.signals, f.size.accesses, f.size.accesses};
    f.run[r] = t;
    f.run[r + 1] = t + 1;
  }
  return t;
}

/// The last task waits until `event` has counted `threshold` signals; `all_signals` stands for the total, which `seal`
/// fills in.
template <class Flow>
constexpr void add_wait(Flow& f, int event, int threshold = all_signals) {
  const int w = f.size.waits++;
  if constexpr (Flow::stores) {
    f.wait[w] = {event, threshold};
    if (threshold != all_signals) ++f.thresholds;
    f.task[f.size.tasks - 1].wait_end = w + 1;
  }
}

/// The last task signals `event` when it ends.
template <class Flow>
constexpr void add_signal(Flow& f, int event) {
  const int s = f.size.signals++;
  ++f.size.signal_uses;
  if constexpr (Flow::stores) {
    f.signal[s] = event;
    f.event[event].signals++;
    f.task[f.size.tasks - 1].signal_end = s + 1;
  }
}

/// The last task reads or writes [begin, end) of `slot`.
template <class Flow>
constexpr void add_access(Flow& f, int slot, int begin, int end, access_mode mode) {
  const int a = f.size.accesses++;
  ++f.size.access_uses;
  if constexpr (Flow::stores) {
    f.access[a] = {slot, begin, end, mode, 0};
    f.task[f.size.tasks - 1].access_end = a + 1;
  }
}

inline constexpr int max_draft_waits = 72;
inline constexpr int max_draft_accesses = 72;

/// What the tasks of one stage have in common, filled once and changed by plain assignments between calls of `append`:
/// a copy of a whole draft costs a constant evaluation less than a call per wait, signal and access. Of `task` only
/// kind, rank, duration, operation, item and part count; the ranges are set by `append`, events and slots are the
/// flow's.
struct task_draft {
  hyperparallel::task task{};
  int waits = 0, signals = 0, accesses = 0;
  hyperparallel::wait wait[max_draft_waits] = {};
  int signal[8] = {};
  hyperparallel::access access[max_draft_accesses] = {};
};

/// Ends a run of `tiles` tasks like `t`, of which `item` and `part` go up by one from tile to tile. The waits, signals
/// and accesses that it shares are in the flow already, from the beginnings that `t` has to where `n` ends, the size
/// that the flow gets; their signals are counted. O(tiles).
template <class Flow>
constexpr void add_run(Flow& f, taskflow_size& n, task& t, int tiles) {
  const int first = n.tasks, past = first + tiles;
  t.wait_end = n.waits;
  t.signal_end = n.signals;
  t.access_end = n.accesses;
  f.task[first] = t;
  for (int i = first + 1; i < past; ++i) {
    t.item += 1;
    t.part += 1;
    f.task[i] = t;
  }
  if (n.runs == 0) f.run[0] = 0;
  n.runs += 1;
  f.run[n.runs] = past;
  n.tasks = past;
  n.signal_uses += tiles * (t.signal_end - t.signal_begin);
  n.access_uses += tiles * (t.access_end - t.access_begin);
  f.size = n;
}

/// Adds a run: `tiles` tasks that wait, signal and access as `d` says; returns the first one's number. From tile to
/// tile `item` and `part` go up by one, so an access moves by its `step`. Waits, signals and accesses are stored once
/// for the whole run. O(tiles) copies.
template <class Flow>
constexpr int append(Flow& f, const task_draft& d, int tiles = 1) {
  taskflow_size n = f.size;
  const int first = n.tasks, waits = d.waits, signals = d.signals, accesses = d.accesses;
  const taskflow_size before = n;
  n.waits += waits;
  n.signals += signals;
  n.accesses += accesses;
  if constexpr (Flow::stores) {
    for (int w = 0; w < waits; ++w) {
      const hyperparallel::wait u = d.wait[w];
      f.wait[before.waits + w] = u;
      if (u.threshold != all_signals) f.thresholds += 1;
    }
    for (int s = 0; s < signals; ++s) {
      const int e = d.signal[s];
      f.signal[before.signals + s] = e;
      f.event[e].signals += tiles;
    }
    for (int a = 0; a < accesses; ++a) f.access[before.accesses + a] = d.access[a];
    task t = d.task;
    t.wait_begin = before.waits;
    t.signal_begin = before.signals;
    t.access_begin = before.accesses;
    add_run(f, n, t, tiles);
  } else {
    n.tasks += tiles;
    n.runs += 1;
    n.signal_uses += tiles * signals;
    n.access_uses += tiles * accesses;
    f.size = n;
  }
  return first;
}

/// Replaces every `all_signals` threshold by the event's total. Call once, after the last task.
template <class Flow>
constexpr void seal(Flow& f) {
  if constexpr (Flow::stores)
    for (int w = 0, waits = f.size.waits; w < waits; ++w)
      if (f.wait[w].threshold == all_signals) f.wait[w].threshold = f.event[f.wait[w].event].signals;
}

/// The sizing pass: runs `build` on a storage that only counts.
template <class Build>
constexpr taskflow_size measure(const Build& build) {
  counting_taskflow f;
  build(f);
  return f.size;
}

/// The filling pass for constant evaluation; `Size` must be `measure(build)`.
template <taskflow_size Size, class Build>
constexpr fixed_taskflow<Size> build_fixed(const Build& build) {
  fixed_taskflow<Size> f;
  build(f);
  seal(f);
  return f;
}

}}  // namespace hyperparallel::v0_2
