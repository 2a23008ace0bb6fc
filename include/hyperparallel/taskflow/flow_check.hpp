// SPDX-License-Identifier: Apache-2.0
#pragma once
// The structural check of a built flow, before anything else reads it: what the other algorithms take for granted.
//
// Laws checked: every index is inside its array; an event's `signals` is the number of signals to it, and the size's
// uses are those of all tasks, and the flow counts thresholds where there are any; runs partition the tasks, and those
// of one differ in item and consecutive part alone; thresholds are in 1 .. total; the reference order can be executed
// (each wait is satisfied by tasks of lower index); accesses stay inside their slot's units as far as they are not
// negative; slots of one (rank, tier) are disjoint and end within the tier's capacity. So occupancy is static: all
// slots of a tier together fit it in every order. Buffers that take turns at one address are one slot, and tensors of
// different sizes that do are intervals of one slot, in units of one size; `verify` then orders their tenants.
//
// That the algorithm decides this of slots, and that what it and `verify` accept is safe by addresses, is proved in
// proofs/addresses.v; that this code computes the same verdict is tested.

#include <cstdint>

#include <hyperparallel/support/enum_text.hpp>
#include <hyperparallel/taskflow/scratch.hpp>
#include <hyperparallel/taskflow/storage.hpp>
#include <hyperparallel/taskflow/tile_run.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class flow_code : unsigned char {
  ok,
  range_outside_the_flow,
  rank_outside_the_machine,
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

/// `other` is the slot that `slot` shares addresses with; -1 where a field says nothing.
struct flow_status {
  flow_code code = flow_code::ok;
  int task = -1, event = -1, slot = -1, other = -1;
  friend constexpr bool operator==(const flow_status&, const flow_status&) = default;
};

constexpr const char* to_text(flow_code c) {
  constexpr const char* texts[] = {"ok",
                                   "a task's waits, signals or accesses or its class are outside the flow",
                                   "a task's rank is outside the machine",
                                   "a duration is negative",
                                   "a wait or signal names an event that the flow does not have",
                                   "an access names a slot that the flow does not have",
                                   "an access is empty or outside its slot",
                                   "an event's total is not the number of its signals",
                                   "the flow counts another number of signals, accesses or thresholds of its tasks",
                                   "the flow's runs do not partition its tasks, or differ in more than item and part",
                                   "a threshold is outside 1 .. total of signals",
                                   "a wait needs a signal of a later task",
                                   "a slot is outside its tier",
                                   "two slots share addresses"};
  return detail::enum_text<flow_code::slots_overlap>(texts, c);
}

namespace detail {

template <int Events, int Slots>
struct flow_scratch {
  scratch_array<int, Events> count = {};
  scratch_array<int, Slots> sorted = {};
  scratch_array<int, Slots> merged = {};
};

template <taskflow_size Size>
using fixed_flow_scratch = flow_scratch<Size.events, Size.slots>;
using dynamic_flow_scratch = flow_scratch<run_time_count, run_time_count>;

constexpr bool before(const slot& a, const slot& b) {
  if (a.rank != b.rank) return a.rank < b.rank;
  if (a.tier != b.tier) return a.tier < b.tier;
  return a.offset < b.offset;
}

/// Slots in address order, by merging runs of doubling length: O(slots log slots).
template <class Flow, class Scratch>
constexpr void sort_slots(const Flow& f, Scratch& x) {
  const int n = f.size.slots;
  for (int i = 0; i < n; ++i) x.sorted[i] = i;
  for (int run = 1; run < n; run *= 2) {
    for (int low = 0; low < n; low += 2 * run) {
      const int middle = low + run < n ? low + run : n, high = low + 2 * run < n ? low + 2 * run : n;
      for (int i = low, j = middle, k = low; k < high; ++k)
        x.merged[k] = j >= high || (i < middle && !before(f.slot[x.sorted[j]], f.slot[x.sorted[i]])) ? x.sorted[i++]
                                                                                                     : x.sorted[j++];
    }
    for (int i = 0; i < n; ++i) x.sorted[i] = x.merged[i];
  }
}

/// Slots inside their tiers and disjoint; linear where the builder wrote them in address order.
template <class Flow, class Scratch>
constexpr flow_status check_slots(const Flow& f, int ranks, const std::int64_t* tier_capacity, int tiers, Scratch& x) {
  const int slots = f.size.slots;
  slot last{-1, 0, 0, 0}, s{};  // of those that are not empty
  std::int64_t end = 0;         // of the last one
  int previous = -1, overlapping = -1, overlapped = -1;
  bool sorted = true;
  for (int i = 0; i < slots; ++i) {
    s = f.slot[i];
    if (s.rank < 0 || s.rank >= ranks || s.tier < 0 || s.tier >= tiers || s.offset < 0 || s.bytes < 0 ||
        s.offset > tier_capacity[s.tier] - s.bytes)
      return {flow_code::slot_outside_its_tier, -1, -1, i};
    if (s.bytes == 0) continue;
    if (s.rank != last.rank || s.tier != last.tier) {
      if (before(s, last)) sorted = false;
    } else if (s.offset < end) {
      if (s.offset < last.offset) sorted = false;
      if (overlapping < 0) {
        overlapping = i;
        overlapped = previous;
      }
    }
    last = s;
    end = s.offset + s.bytes;
    previous = i;
  }
  if (!sorted) {
    sort_slots(f, x);
    previous = overlapping = -1;
    for (int i = 0; i < slots && overlapping < 0; ++i) {
      s = f.slot[x.sorted[i]];
      if (s.bytes == 0) continue;
      if (previous >= 0 && last.rank == s.rank && last.tier == s.tier && s.offset < last.offset + last.bytes) {
        overlapping = x.sorted[i];
        overlapped = previous;
      }
      previous = x.sorted[i];
      last = s;
    }
  }
  if (overlapping >= 0) return {flow_code::slots_overlap, -1, -1, overlapping, overlapped};
  return {};
}

constexpr bool refuse(flow_status& found, flow_code code, int task, int event, int slot = -1) {
  found = {code, task, event, slot};
  return false;
}

/// Waits, signals and accesses of the tiles [first, past) of the run of `k`, whose ranges are inside the flow. `count` holds the
/// signals of the tasks before them. What is wrong goes to `found`: a constant evaluation pays for a status made for each
/// run. `partial` is set where a wait is for less than an event's total.
template <class Flow, class Counts>
constexpr bool check_uses(const Flow& f, const task& k, int first, int past, Counts& count, bool& partial,
                          flow_status& found) {
  // So that no sum overflows: an event or slot is a first one that the flow has plus a number below the flow's.
  const int events = k.first_event < 0 ? 0 : f.size.events - k.first_event;
  const int slots = k.first_slot < 0 ? 0 : f.size.slots - k.first_slot;
  const int further = past - first - 1;
  int e = 0, total = 0;
  for (int w = k.wait_begin; w < k.wait_end; ++w) {
    const wait u = f.wait[w];
    if (u.event < 0 || u.event >= events) return refuse(found, flow_code::event_outside_the_flow, first, u.event);
    e = u.event + k.first_event;
    total = f.event[e].signals;
    if (u.threshold < 1 || u.threshold > total) return refuse(found, flow_code::threshold_is_out_of_range, first, e);
    if (u.threshold != total) partial = true;
    if (count[e] < u.threshold) return refuse(found, flow_code::reference_order_is_not_executable, first, e);
  }
  for (int g = k.signal_begin; g < k.signal_end; ++g) {
    e = f.signal[g];
    if (e < 0 || e >= events) return refuse(found, flow_code::event_outside_the_flow, first, e);
    count[e + k.first_event] += further + 1;
  }
  for (int a = k.access_begin; a < k.access_end; ++a) {
    const access u = f.access[a];
    if (u.slot < 0 || u.slot >= slots) return refuse(found, flow_code::slot_outside_the_flow, first, -1, u.slot);
    if (u.step == 0) {
      if (u.begin >= 0 && u.begin < u.end &&
          (u.end == whole_slot || (u.end < whole_slot && u.end <= f.slot[u.slot + k.first_slot].bytes)))
        continue;
    } else if (u.begin < u.end) {  // the hull of the tiles' intervals
      const std::int64_t begin = u.begin + (std::int64_t{k.part} + (u.step < 0 ? further : 0)) * u.step;
      const std::int64_t end = u.end + (std::int64_t{k.part} + (u.step > 0 ? further : 0)) * u.step;
      if (begin >= 0 && end <= f.slot[u.slot + k.first_slot].bytes && end <= whole_slot) continue;
    }
    return refuse(found, flow_code::access_outside_its_slot, first, -1, u.slot + k.first_slot);
  }
  return true;
}

}  // namespace detail

/// `tier_capacity[i]`: bytes of tier i on every rank. An access's units may be bytes, rows or tiles, so only its sign
/// and, as no unit is smaller than a byte, its end against the slot's bytes can be checked. What the tiles of a run
/// share is checked once. Complexity: O(tasks + waits + signals + accesses + slots log slots).
template <class Flow, class Scratch>
constexpr flow_status check_flow(const Flow& f, int ranks, const std::int64_t* tier_capacity, int tiers, Scratch& x) {
  const taskflow_size n = f.size;
  std::int64_t signal_uses = 0, access_uses = 0;
  bool partial = false;
  flow_status found;
  for (int e = 0, events = n.events; e < events; ++e) x.count[e] = 0;
  int first = 0, past = 0;
  for (int r = 0, runs = n.runs; r < runs; ++r, first = past) {
    past = f.run[r + 1];
    if (f.run[r] != first || past <= first || past > n.tasks || (past > first + 1 && past > end_of_run(f, first, past)))
      return {flow_code::runs_are_wrong, first};
    const task k = f.task[first];
    if (k.wait_begin < 0 || k.wait_begin > k.wait_end || k.wait_end > n.waits || k.signal_begin < 0 ||
        k.signal_begin > k.signal_end || k.signal_end > n.signals || k.access_begin < 0 ||
        k.access_begin > k.access_end || k.access_end > n.accesses || static_cast<int>(k.kind) >= resource_count)
      return {flow_code::range_outside_the_flow, first};
    if (k.rank < 0 || k.rank >= ranks) return {flow_code::rank_outside_the_machine, first};
    if (k.duration < 0) return {flow_code::negative_duration, first};
    if (k.access_begin == k.access_end && k.signal_begin == k.signal_end && k.wait_begin == k.wait_end) continue;
    signal_uses += std::int64_t{past - first} * (k.signal_end - k.signal_begin);
    access_uses += std::int64_t{past - first} * (k.access_end - k.access_begin);
    if (!detail::check_uses(f, k, first, past, x.count, partial, found)) return found;
  }
  if (first != n.tasks) return {flow_code::runs_are_wrong, first};
  for (int e = 0, events = n.events; e < events; ++e)
    if (x.count[e] != f.event[e].signals) return {flow_code::signal_total_differs, -1, e};
  if (signal_uses != n.signal_uses || access_uses != n.access_uses || (partial && f.thresholds == 0))
    return {flow_code::use_total_differs};
  return detail::check_slots(f, ranks, tier_capacity, tiers, x);
}

/// The same with its own working memory, for constant evaluation.
template <taskflow_size Size>
constexpr flow_status check_flow(const fixed_taskflow<Size>& f, int ranks, const std::int64_t* tier_capacity,
                                 int tiers) {
  detail::fixed_flow_scratch<Size> x;
  return check_flow(f, ranks, tier_capacity, tiers, x);
}

}}  // namespace hyperparallel::v0_2
