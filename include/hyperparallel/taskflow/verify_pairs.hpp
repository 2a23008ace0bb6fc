// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pairs: the part of the local rule that judges a slot use by use, where its accesses do not fall into groups.
//
// A use goes back through the slot's history, and each use that it meets and conflicts with needs a witness: a shared
// queue, or a wait whose threshold implies the other task's signal, at most `witness_depth` signals further back. The
// last writer that covers the range ends the way, for what overlaps the range before it conflicts with that writer too.
// Law: a witness implies that the other task has ended in every interleaving; the reverse does not hold. Witnesses may
// use the order of a queue, because pairs are judged tile by tile; groups may not, see verify.hpp.

#include <hyperparallel/taskflow/verify_order.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// How many signals back a witness is looked for: a task also follows what the first signaller of an event it waits for
/// follows.
inline constexpr int witness_depth = 3;

/// Task `a` has ended before `t` begins, or is `t`. A wait of threshold k implies each signal of ordinal <= k: for a
/// total trivially, else because one queue signals in order.
template <class Flow, class Schedule, class Scratch, class Counts>
constexpr bool follows_task(const Flow& f, const Schedule& s, const Scratch& x, const Counts& count, int t, int a,
                            int depth) {
  if (s.queue[a] == s.queue[t] && x.position[a] <= x.position[t]) return true;
  const int wait_end = f.task[t].wait_end, first_event = f.task[t].first_event;
  const int signal_begin = f.task[a].signal_begin, signal_end = f.task[a].signal_end, own_event = f.task[a].first_event;
  for (int w = f.task[t].wait_begin; w < wait_end; ++w) {
    const int e = f.wait[w].event + first_event, threshold = f.wait[w].threshold;
    for (int g = signal_begin; g < signal_end; ++g)
      if (f.signal[g] + own_event == e &&
          (threshold == count[e] || x.ordinal[x.signal_use[a] + g - signal_begin] <= threshold))
        return true;
  }
  if (depth > 0)
    for (int w = f.task[t].wait_begin; w < wait_end; ++w)
      if (follows_task(f, s, x, count, x.first_signaller[f.wait[w].event + first_event], a, depth - 1)) return true;
  return false;
}

/// Whether a run from the one of `first` on waits for a part of an event.
template <class Flow, class Runs, class Counts>
constexpr bool waits_in_part(const Flow& f, const Runs& run_end, const Counts& count, int first) {
  for (int tasks = f.size.tasks; first < tasks; first = -run_end[first]) {
    const task k = f.task[first];
    for (int w = k.wait_begin; w < k.wait_end; ++w)
      if (f.wait[w].threshold != count[f.wait[w].event + k.first_event]) return true;
  }
  return false;
}

/// What fast cases do without: the first signaller of each event in the plan's order. Of neighbours in the order that
/// are tiles of one run the first is enough.
template <class Flow, class Schedule, class Scratch, class Runs>
constexpr void find_first_signallers(const Flow& f, const Schedule& s, Scratch& x, const Runs& run_end) {
  for (int e = 0, events = f.size.events; e < events; ++e) x.first_signaller[e] = -1;
  for (int p = 0, t = 0, last = 0, tasks = f.size.tasks; p < tasks; ++p) {
    t = s.order[p];
    if (run_end[t] == last) continue;
    last = run_end[t];
    const task k = f.task[t];
    for (int g = k.signal_begin; g < k.signal_end; ++g) {
      int& first = x.first_signaller[f.signal[g] + k.first_event];
      if (first < 0) first = t;
    }
  }
}

/// Chains the uses of every slot back through reference order and notes the tasks' positions, for pairs. A task that is
/// one too many for the size, or -1.
template <class Flow, class Schedule, class Scratch>
constexpr int link_accesses(const Flow& f, const Schedule& s, Scratch& x) {
  for (int i = 0, slots = f.size.slots; i < slots; ++i) x.last[i] = -1;
  if constexpr (fills_before_scattering)
    for (int t = 0, tasks = f.size.tasks; t < tasks; ++t) x.position[t] = 0;
  for (int p = 0, tasks = f.size.tasks; p < tasks; ++p) x.position[s.order[p]] = p;
  for (int t = 0, used = 0, tasks = f.size.tasks; t < tasks; ++t) {
    x.access_use[t] = used;
    for (int a = f.task[t].access_begin, end = f.task[t].access_end; a < end; ++a) {
      if (used >= f.size.access_uses) return t;
      const int slot = f.access[a].slot + f.task[t].first_slot;
      x.previous[used] = x.last[slot];
      x.owner[used] = t;
      x.last[slot] = used++;
    }
  }
  return -1;
}

/// Pairs: back through the slot's history until a writer covers the range, for whatever overlaps the range before it
/// conflicts with that writer and is already known to precede it. Heads of macro tasks are passed over: their tails
/// have the same accesses. Tails of one macro task are not known to precede each other, so writers among them, which
/// cover the range one or together, end the way only behind all of them, which are neighbours. Returns a task that `t`
/// is not known to follow, or -1.
template <class Flow, class Schedule, class Scratch, class Counts>
constexpr int unordered_pair(const Flow& f, const Schedule& s, const Scratch& x, const Counts& count, int t, int a) {
  const task k = f.task[t];
  const bool writes = f.access[a].mode == access_mode::write;
  const slot_interval u = interval_of(k, f.access[a]);
  if (u.begin >= u.end) return -1;
  int behind = 0, joint = 0;  // the macro task of which tails cover the range; that of which `written` are writes
  slot_interval written{};
  for (int b = x.previous[x.access_use[t] + a - k.access_begin]; b >= 0; b = x.previous[b]) {
    const int other = x.owner[b], instance = f.task[other].instance;
    if (behind != 0 && instance != behind && instance != -behind) return -1;
    if (instance < 0) continue;
    const access earlier = f.access[f.task[other].access_begin + b - x.access_use[other]];
    slot_interval v = interval_of(f.task[other], earlier);
    const bool wrote = earlier.mode == access_mode::write;
    if (other == t || v.begin >= u.end || v.end <= u.begin || v.begin >= v.end || !(writes || wrote)) continue;
    if (!follows_task(f, s, x, count, t, other, witness_depth)) return other;
    if (wrote && instance != 0) {
      if (joint == instance && v.begin <= written.end && written.begin <= v.end)
        v = {v.begin < written.begin ? v.begin : written.begin, v.end > written.end ? v.end : written.end};
      joint = instance;
      written = v;
    }
    if (wrote && v.begin <= u.begin && v.end >= u.end) {
      if (instance == 0) return -1;
      behind = instance;
    }
  }
  return -1;
}

/// Pairs for all uses of `slot` by the tiles [first, past) of a run, tile by tile: a tile's use also meets those that
/// the tiles before it make by other accesses.
template <class Flow, class Schedule, class Scratch, class Counts>
constexpr verify_status verify_pairs(const Flow& f, const Schedule& s, const Scratch& x, const Counts& count, int first,
                                     int past, int slot) {
  for (int t = first; t < past; ++t)
    for (int a = f.task[t].access_begin, end = f.task[t].access_end; a < end; ++a) {
      if (f.access[a].slot + f.task[t].first_slot != slot) continue;
      const int other = unordered_pair(f, s, x, count, t, a);
      if (other >= 0) return {verify_code::conflict_is_not_ordered, t, other, -1, slot};
    }
  return {};
}

}}}  // namespace hyperparallel::v0_2::detail
