// SPDX-License-Identifier: Apache-2.0
#pragma once
// A period: the flow of one layer, one expert group or one decode step, which occurs any number of times in a row. It
// is written once, by the builder functions of any flow; what a copy takes from the copies before it is *carried*.
//
//   add_wait(f, carried(done, 1))      waits for event `done` of the copy before; absent in copy 0
//   {carried(slot, 1), 0, 8, read}     an access to the bank of `slot` that the copy before calls its own
//   add_banked_slot(f, ..., 2, ...)    a slot of two banks: copy c uses bank c mod 2
//   bank_events(f, 2)                  two counters for each event: copies c and c + 2 share one
//
// Laws: event e of copy c is signalled by the tasks of copy c alone; a carried wait is for the total; two accesses name
// the same banks or have none in common, so that what meets in one copy meets in every one that is as many copies on as
// there are banks; the reference order of n copies is copy after copy. A period with carried numbers is no flow by
// itself: `unroll` makes flows of it.

#include <hyperparallel/support/array_bound.hpp>
#include <hyperparallel/taskflow/builder.hpp>
#include <hyperparallel/taskflow/scratch.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What a carried number adds for each copy that it goes back; a copy has fewer events and fewer slots than this.
inline constexpr int carried_step = 1 << 24;
/// How many copies back a number may go.
inline constexpr int most_carried = 8;

/// Event or slot `number` of the copy `distance` before.
constexpr int carried(int number, int distance = 1) { return number + distance * carried_step; }

constexpr int own_number(int number) { return number & (carried_step - 1); }
constexpr int distance_of(int number) { return number >> 24; }

template <taskflow_size Size>
struct fixed_period : fixed_taskflow<Size> {
  int banks[array_bound(Size.slots + 1)] = {};  ///< slot -> copies after which it is used again, if more than one
  int event_banks = 1;                          ///< copies after which an event's counter is used again
};

struct dynamic_period : dynamic_taskflow {
  int* banks = nullptr;
  int event_banks = 1;
};

/// Run time: `owned_period p(measure(build)); build(p); seal_period(p);`
struct owned_period : dynamic_period {
  explicit owned_period(const taskflow_size& n) {
    task = memory.take<hyperparallel::task>(n.tasks);
    wait = memory.take<hyperparallel::wait>(n.waits);
    signal = memory.take<int>(n.signals);
    access = memory.take<hyperparallel::access>(n.accesses);
    event = memory.take<hyperparallel::event>(n.events);
    slot = memory.take<hyperparallel::slot>(n.slots);
    run = memory.take<int>(run_room(n));
    banks = memory.take<int>(n.slots);
  }
  scratch_memory memory;
};

/// Adds a slot of `banks` banks, each `stride` bytes behind the one before; returns the number by which accesses name
/// it.
template <class Flow>
constexpr int add_banked_slot(Flow& f, int rank, int tier, std::int64_t offset, std::int64_t bytes, int banks,
                              std::int64_t stride) {
  const int first = add_slot(f, rank, tier, offset, bytes, banks, stride);
  if constexpr (Flow::stores) f.banks[first] = banks;
  return first;
}

/// Every event has `banks` counters.
template <class Flow>
constexpr void bank_events(Flow& f, int banks) {
  if constexpr (Flow::stores) f.event_banks = banks;
}

constexpr int bank_count(int banks) { return banks > 1 ? banks : 1; }

/// The slot that number `slot` of an access means in copy `copy`.
template <class Period>
constexpr int slot_in_copy(const Period& p, int slot, std::int64_t copy) {
  const int own = own_number(slot), banks = bank_count(p.banks[own]);
  if (banks == 1) return own;
  const int bank = static_cast<int>((copy - distance_of(slot)) % banks);
  return own + (bank < 0 ? bank + banks : bank);
}

/// `seal` for a period: replaces every `all_signals` threshold by the event's total.
template <class Period>
constexpr void seal_period(Period& p) {
  for (int r = 0; r < p.size.runs; ++r) {
    const task k = p.task[p.run[r]];
    for (int w = k.wait_begin; w < k.wait_end; ++w)
      if (p.wait[w].threshold == all_signals)
        p.wait[w].threshold = p.event[own_number(p.wait[w].event + k.first_event)].signals;
  }
}

/// The filling pass for constant evaluation; `Size` must be `measure(build)`.
template <taskflow_size Size, class Build>
constexpr fixed_period<Size> build_period(const Build& build) {
  fixed_period<Size> p;
  build(p);
  seal_period(p);
  return p;
}

/// How many copies back the period's waits go. O(waits).
template <class Period>
constexpr int greatest_distance(const Period& p) {
  int greatest = 0;
  for (int w = 0; w < p.size.waits; ++w)
    if (greatest < distance_of(p.wait[w].event)) greatest = distance_of(p.wait[w].event);
  return greatest;
}

/// The most banks of a slot. O(slots).
template <class Period>
constexpr int most_banks(const Period& p) {
  int most = 1;
  for (int s = 0; s < p.size.slots; ++s)
    if (most < p.banks[s]) most = p.banks[s];
  return most;
}

enum class period_code : unsigned char {
  ok,
  event_outside_the_period,
  slot_outside_the_period,
  carried_too_far,
  carried_wait_in_part,
  banks_outside_the_period,
  bank_groups_overlap,
};

/// `number` is the event or slot at fault, as the task writes it.
struct period_status {
  period_code code = period_code::ok;
  int task = -1, number = -1;
  friend constexpr bool operator==(const period_status&, const period_status&) = default;
};

constexpr const char* to_text(period_code c) {
  switch (c) {
    case period_code::ok:
      return "ok";
    case period_code::event_outside_the_period:
      return "a wait names an event that the period does not have";
    case period_code::slot_outside_the_period:
      return "an access names a slot that the period does not have";
    case period_code::carried_too_far:
      return "a wait or access goes back further than a carried number may";
    case period_code::carried_wait_in_part:
      return "a carried wait is not for all signals of its event";
    case period_code::banks_outside_the_period:
      return "a slot's banks are not slots of the period, or events have no bank";
    case period_code::bank_groups_overlap:
      return "a slot or access names a bank of another slot";
  }
  return "unknown";
}

/// The slot before `own` of which `own` is a bank, or -1. O(banks).
template <class Period>
constexpr int slot_with_bank(const Period& p, int own, int most) {
  for (int back = 1; back < most && back <= own; ++back)
    if (p.banks[own - back] > back) return own - back;
  return -1;
}

/// What a period may break beyond a flow, before anything else reads it; what it shares with flows is for `check_flow`
/// on `unroll(period, 1 + greatest_distance)`. O(runs + waits + (accesses + slots) · banks).
template <class Period>
constexpr period_status check_period(const Period& p) {
  if (p.event_banks < 1) return {period_code::banks_outside_the_period};
  for (int s = 0; s < p.size.slots; ++s)
    if (p.banks[s] < 0 || p.banks[s] > p.size.slots - s) return {period_code::banks_outside_the_period, -1, s};
  const int most = most_banks(p);
  for (int s = 0; s < p.size.slots; ++s)
    if (p.banks[s] > 1 && slot_with_bank(p, s, most) >= 0) return {period_code::bank_groups_overlap, -1, s};
  for (int r = 0; r < p.size.runs; ++r) {
    const int t = p.run[r];
    const task k = p.task[t];
    for (int w = k.wait_begin; w < k.wait_end; ++w) {
      const int number = p.wait[w].event + k.first_event, e = own_number(number), distance = distance_of(number);
      if (number < 0 || e >= p.size.events) return {period_code::event_outside_the_period, t, number};
      if (distance > most_carried) return {period_code::carried_too_far, t, number};
      if (distance > 0 && p.wait[w].threshold != p.event[e].signals)
        return {period_code::carried_wait_in_part, t, number};
    }
    for (int a = k.access_begin; a < k.access_end; ++a) {
      const int number = p.access[a].slot + k.first_slot;
      if (number < 0 || own_number(number) >= p.size.slots) return {period_code::slot_outside_the_period, t, number};
      if (distance_of(number) > most_carried) return {period_code::carried_too_far, t, number};
      if (slot_with_bank(p, own_number(number), most) >= 0) return {period_code::bank_groups_overlap, t, number};
    }
  }
  return {};
}

}}  // namespace hyperparallel::v0_2
