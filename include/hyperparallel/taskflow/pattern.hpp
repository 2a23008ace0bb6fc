// SPDX-License-Identifier: Apache-2.0
#pragma once
// A part of a flow that repeats: written once by a builder of its own, then put into a flow as often as it occurs.
//
// A copy costs a constant evaluation half of what the same calls of `append` cost, and the sizing pass one addition.
// Law: copies share nothing. Copy c of a pattern is the same tasks with events and slots of its own, `item` counted on
// from copy c - 1 for each operation, and slots behind those of copy c - 1 in their tier; so copy 0 in an empty flow is
// the pattern itself, and a flow of copies is the flow that the builder run c times, with these shifts, would write.

#include <hyperparallel/taskflow/builder.hpp>

namespace hyperparallel {

template <taskflow_size Size>
struct taskflow_pattern {
  fixed_taskflow<Size> flow{};                    ///< sealed
  int items[run_room(Size) + 1] = {};             ///< run -> tasks of its operation in one copy
  std::int64_t slot_stride[Size.slots + 1] = {};  ///< slot -> bytes that all slots of its tier span in one copy
};

/// `Size` must be `measure(build)`. O(runs² + slots²), once.
template <taskflow_size Size, class Build>
constexpr taskflow_pattern<Size> build_pattern(const Build& build) {
  taskflow_pattern<Size> p;
  build(p.flow);
  seal(p.flow);
  for (int r = 0; r < p.flow.size.runs; ++r) {
    p.items[r] = 0;
    for (int o = 0; o < p.flow.size.runs; ++o)
      if (p.flow.task[p.flow.run[o]].operation == p.flow.task[p.flow.run[r]].operation)
        p.items[r] += p.flow.run[o + 1] - p.flow.run[o];
  }
  for (int s = 0; s < p.flow.size.slots; ++s) {
    const slot own = p.flow.slot[s];
    std::int64_t begin = own.offset, end = own.offset + own.bytes;
    for (int o = 0; o < p.flow.size.slots; ++o) {
      const slot other = p.flow.slot[o];
      if (other.rank != own.rank || other.tier != own.tier) continue;
      if (begin > other.offset) begin = other.offset;
      if (end < other.offset + other.bytes) end = other.offset + other.bytes;
    }
    p.slot_stride[s] = end - begin;
  }
  return p;
}

/// Adds copy number `copy` of the pattern, each of its tasks `longer` picoseconds longer; returns the first task's
/// number. The copy's first event and slot are those that `add_event` and `add_slot` would have returned.
/// O(tasks + waits + signals + accesses + events + slots) of the pattern.
template <class Flow, taskflow_size Size>
constexpr int stamp(Flow& f, const taskflow_pattern<Size>& p, int copy, std::int64_t longer = 0) {
  taskflow_size n = f.size;
  const int first = n.tasks;
  if constexpr (Flow::stores) {
    int from = 0, past = 0;
    if (n.runs == 0) f.run[0] = 0;
    for (int r = 0; r < Size.runs; ++r) {
      task t = p.flow.task[from];
      t.duration = t.duration + longer;
      t.item = t.item + copy * p.items[r];
      t.wait_begin = t.wait_begin + n.waits;
      t.wait_end = t.wait_end + n.waits;
      t.signal_begin = t.signal_begin + n.signals;
      t.signal_end = t.signal_end + n.signals;
      t.access_begin = t.access_begin + n.accesses;
      t.access_end = t.access_end + n.accesses;
      past = p.flow.run[r + 1];
      f.run[n.runs + r + 1] = first + past;
      f.task[first + from] = t;
      for (from = from + 1; from < past; from = from + 1) {
        t.item = t.item + 1;
        t.part = t.part + 1;
        f.task[first + from] = t;
      }
    }
    wait w{};
    for (int i = 0; i < Size.waits; ++i) {
      w = p.flow.wait[i];
      w.event = w.event + n.events;
      f.wait[n.waits + i] = w;
    }
    for (int i = 0; i < Size.signals; ++i) f.signal[n.signals + i] = p.flow.signal[i] + n.events;
    access a{};
    for (int i = 0; i < Size.accesses; ++i) {
      a = p.flow.access[i];
      a.slot = a.slot + n.slots;
      f.access[n.accesses + i] = a;
    }
    for (int e = 0; e < Size.events; ++e) f.event[n.events + e] = p.flow.event[e];
    slot s{};
    for (int i = 0; i < Size.slots; ++i) {
      s = p.flow.slot[i];
      s.offset = s.offset + copy * p.slot_stride[i];
      f.slot[n.slots + i] = s;
    }
  }
  n.tasks += Size.tasks;
  n.waits += Size.waits;
  n.signals += Size.signals;
  n.accesses += Size.accesses;
  n.events += Size.events;
  n.slots += Size.slots;
  n.signal_uses += Size.signal_uses;
  n.access_uses += Size.access_uses;
  n.runs += Size.runs;
  f.size = n;
  return first;
}

}  // namespace hyperparallel
