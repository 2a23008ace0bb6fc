// SPDX-License-Identifier: Apache-2.0
#pragma once
// A part of a flow that repeats: written once by a builder of its own, then put into a flow as often as it occurs.
//
// `place` puts the pattern's waits, signals and accesses into a flow, `stamp` adds copies that share them: tasks,
// events and slots. A copy costs a constant evaluation three tenths of what the same calls of `append` cost, and
// the sizing pass one addition. Law: copies have events and slots of their own. Copy c of a pattern is the same tasks,
// `item` counted on from copy c - 1 for each operation, and slots behind those of copy c - 1 in their tier; so copy 0
// in an empty flow is the pattern itself, and a flow of copies waits, signals and accesses as the flow that the builder
// run c times, with these shifts, would write.

#include <hyperparallel/support/array_bound.hpp>
#include <hyperparallel/taskflow/builder.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <taskflow_size Size>
struct taskflow_pattern {
  fixed_taskflow<Size> flow{};                                      ///< sealed
  int items[detail::array_bound(detail::run_room(Size) + 1)] = {};  ///< run -> tasks of its operation in one copy
  std::int64_t slot_stride[detail::array_bound(Size.slots + 1)] =
      {};  ///< slot -> bytes that all slots of its tier span in one copy
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

/// A pattern's waits, signals and accesses inside one flow, which all its copies there share.
template <taskflow_size Size>
struct placed_pattern {
  const taskflow_pattern<Size>* pattern = nullptr;
  task model[detail::array_bound(detail::run_room(Size) + 1)] =
      {};  ///< run -> its first task, with the ranges that copies have
};

/// Adds the lists that copies share; `p` has to outlive the result. O(runs + waits + signals + accesses) of the
/// pattern.
template <class Flow, taskflow_size Size>
constexpr placed_pattern<Size> place(Flow& f, const taskflow_pattern<Size>& p) {
  placed_pattern<Size> at;
  at.pattern = &p;
  taskflow_size n = f.size;
  if constexpr (Flow::stores) {
    for (int r = 0; r < Size.runs; ++r) {
      task t = p.flow.task[p.flow.run[r]];
      t.wait_begin += n.waits;
      t.wait_end += n.waits;
      t.signal_begin += n.signals;
      t.signal_end += n.signals;
      t.access_begin += n.accesses;
      t.access_end += n.accesses;
      at.model[r] = t;
    }
    for (int w = 0; w < Size.waits; ++w) f.wait[n.waits + w] = p.flow.wait[w];
    for (int s = 0; s < Size.signals; ++s) f.signal[n.signals + s] = p.flow.signal[s];
    for (int a = 0; a < Size.accesses; ++a) f.access[n.accesses + a] = p.flow.access[a];
    f.thresholds += p.flow.thresholds;
  }
  n.waits += Size.waits;
  n.signals += Size.signals;
  n.accesses += Size.accesses;
  f.size = n;
  return at;
}

/// Adds copy number `copy` of a pattern that `place` put into this flow, each of its tasks `longer` picoseconds longer;
/// returns the first task's number. The copy's first event and slot are those that `add_event` and `add_slot` would
/// have returned. O(tasks + events + slots) of the pattern.
template <class Flow, taskflow_size Size>
constexpr int stamp(Flow& f, const placed_pattern<Size>& at, int copy, std::int64_t longer = 0) {
  taskflow_size n = f.size;
  const int first = n.tasks;
  if constexpr (Flow::stores) {
    const taskflow_pattern<Size>& p = *at.pattern;
    const int events = n.events, slots = n.slots, runs = n.runs + 1;
    int place = first, past = 0;
    if (runs == 1) f.run[0] = 0;
    for (int r = 0; r < Size.runs; ++r) {
      task t = at.model[r];
      t.duration = t.duration + longer;
      t.item = t.item + copy * p.items[r];
      t.first_event = t.first_event + events;
      t.first_slot = t.first_slot + slots;
      f.task[place] = t;
      past = first + p.flow.run[r + 1];
      f.run[runs + r] = past;
      for (place = place + 1; place < past; place = place + 1) {
        t.item = t.item + 1;
        t.part = t.part + 1;
        f.task[place] = t;
      }
    }
    for (int e = 0; e < Size.events; ++e) f.event[events + e] = p.flow.event[e];
    slot s{};
    for (int i = 0; i < Size.slots; ++i) {
      s = p.flow.slot[i];
      s.offset = s.offset + copy * p.slot_stride[i];
      f.slot[slots + i] = s;
    }
  }
  n.tasks += Size.tasks;
  n.events += Size.events;
  n.slots += Size.slots;
  n.signal_uses += Size.signal_uses;
  n.access_uses += Size.access_uses;
  n.runs += Size.runs;
  f.size = n;
  return first;
}

}}  // namespace hyperparallel::v0_2
