// SPDX-License-Identifier: Apache-2.0
#pragma once
// The structural check of a built flow, before anything else reads it: what the other algorithms take for granted.
//
// Laws checked: every index is inside its array; an event's `signals` is the number of signals to it, and the size's
// uses are those of all tasks, and the flow counts thresholds where there are any; runs partition the tasks, and those
// of one differ in item and consecutive part alone; thresholds are in 1 .. total; the reference order can be executed
// (each wait is satisfied by tasks of lower index); accesses stay inside their slot's units as far as they are not
// negative; slots of one (rank, tier) are disjoint and end within the tier's capacity.

#include <cstdint>

#include <hyperparallel/taskflow/scratch.hpp>
#include <hyperparallel/taskflow/storage.hpp>
#include <hyperparallel/taskflow/tile_run.hpp>

namespace hyperparallel {

enum class flow_code : unsigned char {
  ok,
  range_outside_the_flow,
  negative_duration,
  event_outside_the_flow,
  slot_outside_the_flow,
  access_outside_its_slot,
  signal_total_differs,
  use_total_differs,
  runs_are_wrong,
  threshold_is_out_of_range,
  reference_order_is_not_executable,
  slot_outside_its_tier,
  slots_overlap,
};

struct flow_status {
  flow_code code = flow_code::ok;
  int task = -1, event = -1, slot = -1;
  friend constexpr bool operator==(const flow_status&, const flow_status&) = default;
};

constexpr const char* to_text(flow_code c) {
  switch (c) {
    case flow_code::ok:
      return "ok";
    case flow_code::range_outside_the_flow:
      return "a task's waits, signals or accesses, its class or its rank are outside the flow";
    case flow_code::negative_duration:
      return "a duration is negative";
    case flow_code::event_outside_the_flow:
      return "a wait or signal names an event that the flow does not have";
    case flow_code::slot_outside_the_flow:
      return "an access names a slot that the flow does not have";
    case flow_code::access_outside_its_slot:
      return "an access is empty or outside its slot";
    case flow_code::signal_total_differs:
      return "an event's total is not the number of its signals";
    case flow_code::use_total_differs:
      return "the flow counts another number of signals, accesses or thresholds of its tasks";
    case flow_code::runs_are_wrong:
      return "the flow's runs do not partition its tasks, or differ in more than item and part";
    case flow_code::threshold_is_out_of_range:
      return "a threshold is outside 1 .. total of signals";
    case flow_code::reference_order_is_not_executable:
      return "a wait needs a signal of a later task";
    case flow_code::slot_outside_its_tier:
      return "a slot is outside its tier";
    case flow_code::slots_overlap:
      return "two slots share addresses";
  }
  return "unknown";
}

template <int Events, int Slots>
struct flow_scratch {
  scratch_array<int, Events> count = {};
  scratch_array<int, Slots> sorted = {};
  scratch_array<int, Slots> merged = {};
};

template <taskflow_size Size>
using fixed_flow_scratch = flow_scratch<Size.events, Size.slots>;
using dynamic_flow_scratch = flow_scratch<run_time_count, run_time_count>;

namespace detail {

constexpr bool before(const slot& a, const slot& b) {
  if (a.rank != b.rank) return a.rank < b.rank;
  if (a.tier != b.tier) return a.tier < b.tier;
  return a.offset < b.offset;
}

/// Slots in address order, by merging runs of doubling length: O(slots log slots), linear where the builder wrote them
/// in order.
template <class Flow, class Scratch>
constexpr void sort_slots(const Flow& f, Scratch& x) {
  const int n = f.size.slots;
  bool sorted = true;
  for (int i = 0; i < n; ++i) {
    x.sorted[i] = i;
    sorted = sorted && (i == 0 || !before(f.slot[i], f.slot[i - 1]));
  }
  for (int run = 1; run < n && !sorted; run *= 2) {
    for (int low = 0; low < n; low += 2 * run) {
      const int middle = low + run < n ? low + run : n, high = low + 2 * run < n ? low + 2 * run : n;
      for (int i = low, j = middle, k = low; k < high; ++k)
        x.merged[k] = j >= high || (i < middle && !before(f.slot[x.sorted[j]], f.slot[x.sorted[i]])) ? x.sorted[i++]
                                                                                                     : x.sorted[j++];
    }
    for (int i = 0; i < n; ++i) x.sorted[i] = x.merged[i];
  }
}

/// `first + number`, or -1 where `first` is outside 0 .. `size`, so that no sum overflows.
constexpr int counted_from(int first, int number, int size) {
  return first < 0 || first > size || number < 0 || number >= size ? -1 : first + number;
}

constexpr bool in_range(int begin, int end, int size) { return 0 <= begin && begin <= end && end <= size; }

}  // namespace detail

/// `tier_capacity[i]`: bytes of tier i on every rank. An access's units may be bytes, rows or tiles, so only its sign
/// and, as no unit is smaller than a byte, its end against the slot's bytes can be checked. Complexity: O(tasks + waits
/// + signals + accesses + slots log slots).
template <class Flow, class Scratch>
constexpr flow_status check_flow(const Flow& f, int ranks, const std::int64_t* tier_capacity, int tiers, Scratch& x) {
  std::int64_t signal_uses = 0, access_uses = 0;
  bool partial = false;
  for (int e = 0; e < f.size.events; ++e) x.count[e] = 0;
  for (int t = 0; t < f.size.tasks; ++t) {
    const task& k = f.task[t];
    if (!detail::in_range(k.wait_begin, k.wait_end, f.size.waits) || k.rank < 0 || k.rank >= ranks ||
        !detail::in_range(k.signal_begin, k.signal_end, f.size.signals) ||
        !detail::in_range(k.access_begin, k.access_end, f.size.accesses) || static_cast<int>(k.kind) >= resource_count)
      return {flow_code::range_outside_the_flow, t};
    if (k.duration < 0) return {flow_code::negative_duration, t};
    signal_uses += k.signal_end - k.signal_begin;
    access_uses += k.access_end - k.access_begin;
    for (int w = k.wait_begin; w < k.wait_end; ++w) {
      const int e = detail::counted_from(k.first_event, f.wait[w].event, f.size.events);
      if (e < 0 || e >= f.size.events) return {flow_code::event_outside_the_flow, t, e};
      if (f.wait[w].threshold < 1 || f.wait[w].threshold > f.event[e].signals)
        return {flow_code::threshold_is_out_of_range, t, e};
      partial = partial || f.wait[w].threshold != f.event[e].signals;
      if (x.count[e] < f.wait[w].threshold) return {flow_code::reference_order_is_not_executable, t, e};
    }
    for (int g = k.signal_begin; g < k.signal_end; ++g) {
      const int e = detail::counted_from(k.first_event, f.signal[g], f.size.events);
      if (e < 0 || e >= f.size.events) return {flow_code::event_outside_the_flow, t, e};
      ++x.count[e];
    }
    for (int a = k.access_begin; a < k.access_end; ++a) {
      const int s = detail::counted_from(k.first_slot, f.access[a].slot, f.size.slots);
      if (s < 0 || s >= f.size.slots) return {flow_code::slot_outside_the_flow, t, -1, s};
      const std::int64_t moved = std::int64_t{k.part} * f.access[a].step;
      if (f.access[a].begin + moved < 0 || f.access[a].begin >= f.access[a].end ||
          f.access[a].end + moved > f.slot[s].bytes)
        return {flow_code::access_outside_its_slot, t, -1, s};
    }
  }
  for (int e = 0; e < f.size.events; ++e)
    if (x.count[e] != f.event[e].signals) return {flow_code::signal_total_differs, -1, e};
  int first = 0;
  for (int r = 0; r < f.size.runs; ++r) {
    const int past = f.run[r + 1];
    if (f.run[r] != first || past <= first || past > f.size.tasks || past > end_of_run(f, first))
      return {flow_code::runs_are_wrong, first};
    first = past;
  }
  if (first != f.size.tasks) return {flow_code::runs_are_wrong, first};
  if (signal_uses != f.size.signal_uses || access_uses != f.size.access_uses || (partial && f.thresholds == 0))
    return {flow_code::use_total_differs};

  for (int i = 0; i < f.size.slots; ++i) {
    const slot& s = f.slot[i];
    if (s.rank < 0 || s.rank >= ranks || s.tier < 0 || s.tier >= tiers || s.offset < 0 || s.bytes < 0 ||
        s.bytes > tier_capacity[s.tier] || s.offset > tier_capacity[s.tier] - s.bytes)
      return {flow_code::slot_outside_its_tier, -1, -1, i};
  }
  detail::sort_slots(f, x);
  int previous = -1;  // the last slot that is not empty
  for (int i = 0; i < f.size.slots; ++i) {
    const slot& s = f.slot[x.sorted[i]];
    if (s.bytes == 0) continue;
    if (previous >= 0 && f.slot[previous].rank == s.rank && f.slot[previous].tier == s.tier &&
        f.slot[previous].offset + f.slot[previous].bytes > s.offset)
      return {flow_code::slots_overlap, -1, -1, x.sorted[i]};
    previous = x.sorted[i];
  }
  return {};
}

}  // namespace hyperparallel
