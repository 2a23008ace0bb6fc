// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies of a period as one explicit flow, for whatever reads flows: scheduler, checkers, executor, reports.
//
// Laws: task t of copy c is task c * tasks + t; a wait for a copy before the first is absent; slots are the period's.
// Events in the `own` form: event e of copy c is e + c * events. In the `banked` form it is the counter
// e + (c mod banks) * events, which is never reset: copy c is its generation c / banks and waits for what all earlier
// generations signal and its own threshold on top. That is what a machine with so many counters does, and so the truth
// that the wrap law of `verify_period` is held against.

#include <hyperparallel/taskflow/periodic_flow.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class event_form : unsigned char { own, banked };

/// Room for `copies` copies in either form of events: runs that share lists have their own in each copy. O(runs).
template <class Period>
constexpr taskflow_size unrolled_room(const Period& p, int copies) {
  taskflow_size n = p.size;
  n.waits = n.signals = n.accesses = 0;
  for (int r = 0; r < n.runs; ++r) {
    const task k = p.task[p.run[r]];
    n.waits += k.wait_end - k.wait_begin;
    n.signals += k.signal_end - k.signal_begin;
    n.accesses += k.access_end - k.access_begin;
  }
  n.tasks *= copies;
  n.waits *= copies;
  n.signals *= copies;
  n.accesses *= copies;
  n.events *= copies;
  n.signal_uses *= copies;
  n.access_uses *= copies;
  n.runs *= copies;
  return n;
}

/// Fills the empty flow `f`, which has `unrolled_room`. Domain: a period that `check_period` accepts, and fewer than
/// 2^31 of everything. O(copies * (tasks + waits + signals + accesses)).
template <class Flow, class Period>
constexpr void unroll(Flow& f, const Period& p, int copies, event_form form = event_form::own) {
  taskflow_size n = p.size;
  const int events = n.events, runs = n.runs, tasks = n.tasks;
  const bool banked = form == event_form::banked;
  const int counters = banked && p.event_banks < copies ? p.event_banks : copies;
  n.events = events * counters;
  n.tasks = tasks * copies;
  n.runs = runs * copies;
  n.signal_uses *= copies;
  n.access_uses *= copies;
  n.waits = n.signals = n.accesses = 0;
  for (int s = 0; s < n.slots; ++s) f.slot[s] = p.slot[s];
  for (int c = 0; c < counters; ++c)
    for (int e = 0; e < events; ++e) f.event[c * events + e] = {p.event[e].rank, 0};
  f.run[0] = 0;
  f.thresholds = p.thresholds * copies;
  task k{};
  int first = 0, past = 0, number = 0, back = 0, own = 0, threshold = 0;
  for (int c = 0; c < copies; ++c) {
    const int own_events = c % counters * events;
    for (int r = 0; r < runs; ++r) {
      const task model = p.task[p.run[r]];
      k = model;
      k.first_event = k.first_slot = 0;
      k.wait_begin = n.waits;
      k.signal_begin = n.signals;
      k.access_begin = n.accesses;
      for (int w = model.wait_begin; w < model.wait_end; ++w) {
        number = p.wait[w].event + model.first_event;
        threshold = p.wait[w].threshold;
        back = c - distance_of(number);
        own = own_number(number);
        if (back < 0) continue;
        if (banked) {
          threshold += back / counters * p.event[own].signals;
          f.thresholds += 1;
        }
        f.wait[n.waits] = {own + back % counters * events, threshold};
        n.waits += 1;
      }
      past = p.run[r + 1] - p.run[r];
      for (int g = model.signal_begin; g < model.signal_end; ++g) {
        number = p.signal[g] + model.first_event + own_events;
        f.signal[n.signals] = number;
        f.event[number].signals += past;
        n.signals += 1;
      }
      for (int a = model.access_begin; a < model.access_end; ++a) {
        f.access[n.accesses] = p.access[a];
        f.access[n.accesses].slot = slot_in_copy(p, p.access[a].slot + model.first_slot, c);
        n.accesses += 1;
      }
      k.wait_end = n.waits;
      k.signal_end = n.signals;
      k.access_end = n.accesses;
      for (past += first; first < past; ++first) {
        f.task[first] = k;
        k.item += 1;
        k.part += 1;
      }
      f.run[c * runs + r + 1] = past;
    }
  }
  f.size = n;
}

}}  // namespace hyperparallel::v0_2
