// SPDX-License-Identifier: Apache-2.0
#pragma once
// The local rule: a fast proof that a plan is safe in every interleaving of task begins and ends.
//
// It proves that (1) every task runs exactly once, on a queue of its class and rank, and all complete: `order` is a
// sequential run that respects queues and waits, and monotone counters make one complete run a proof for all; (2) of
// two tasks that conflict on a slot, the earlier in reference order has ended before the later begins. One-sided writes
// are accesses of a task of another rank and obey the same rule.
//
// A witness of (2) is a shared queue, or a wait whose threshold implies the other task's signal. Accesses of a slot are
// grouped into a *writer group* (rising ranges) and the readers after it; a group whose members all signal one event is
// passed in O(1) by a wait for that event's total. Where that fails the slot goes over to pairs: back through its
// history to the last writer that covers the range. Law: the rule may refuse a safe plan, it never accepts an unsafe
// one. It trusts no count of the builder: totals of signals and slot versions are derived here.

#include <hyperparallel/taskflow/verify_order.hpp>

namespace hyperparallel {

namespace detail {

/// Bits of a slot's state: which groups have members, and what is known about them. A group is what a later access has
/// to follow; the groups before are those that every present writer follows.
enum slot_state {
  has_writers = 1,
  has_readers = 2,
  has_before_writers = 4,
  has_before_readers = 8,
  covered = 16,  ///< some reader follows all writers
  pairs = 32,    ///< no longer in groups
};

/// How many signals back a witness is looked for: a task also follows what the first signaller of an event it waits for
/// follows.
inline constexpr int witness_depth = 3;

/// All signallers of `event` have ended before `t` begins.
template <class Flow, class Scratch, class Counts>
constexpr bool follows_all(const Flow& f, const Scratch& x, const Counts& count, int t, int event, int depth) {
  const int wait_end = f.task[t].wait_end, total = count[event], first_event = f.task[t].first_event;
  for (int w = f.task[t].wait_begin; w < wait_end; ++w)
    if (f.wait[w].event + first_event == event && f.wait[w].threshold == total) return true;
  if (depth > 0)
    for (int w = f.task[t].wait_begin; w < wait_end; ++w)
      if (follows_all(f, x, count, x.first_signaller[f.wait[w].event + first_event], event, depth - 1)) return true;
  return false;
}

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

/// What fast cases do without: the first signaller of each event in the plan's order.
template <class Flow, class Schedule, class Scratch>
constexpr void find_first_signallers(const Flow& f, const Schedule& s, Scratch& x) {
  for (int e = 0, events = f.size.events; e < events; ++e) x.first_signaller[e] = -1;
  for (int p = f.size.tasks - 1; p >= 0; --p) {
    const int t = s.order[p], signal_end = f.task[t].signal_end, first_event = f.task[t].first_event;
    for (int g = f.task[t].signal_begin; g < signal_end; ++g) x.first_signaller[f.signal[g] + first_event] = t;
  }
}

/// Puts an access, of task `t` and the other tiles of its run, into the groups of its slot, which is in groups and has
/// been used before. `u` spans the intervals of all tiles; writes of tiles are disjoint. All tiles have the same waits,
/// so what one follows, all follow. `event`: the one by which the run joins its group. False: groups cannot express it,
/// the slot goes over to pairs.
template <class Flow, class Scratch, class Counts, class States, class Ends, class Writers, class Readers>
constexpr bool place_access(const Flow& f, Scratch& x, const Counts& count, States& states, Ends& high,
                            Writers& writers, Readers& readers, int t, const access& u, int event) {
  const int slot = u.slot;
  int state = states[slot];
  const auto after = [&](int has, int common) {
    return (state & has) == 0 || (common >= 0 && follows_all(f, x, count, t, common, witness_depth));
  };
  const bool writes = u.mode == access_mode::write;
  bool grouped = true;
  if (!writes) {
    grouped = after(has_writers, writers[slot]);
    if ((state & has_writers) != 0) state |= covered;
  } else if (high[slot] <= u.begin) {
    grouped = after(has_before_readers, x.before_readers[slot]) && after(has_before_writers, x.before_writers[slot]);
    state &= ~covered;
  } else {
    // A write that meets the present groups begins new ones after them.
    grouped = after(has_readers, readers[slot]) && ((state & covered) != 0 || after(has_writers, writers[slot]));
    x.before_writers[slot] = writers[slot];
    x.before_readers[slot] = readers[slot];
    state = ((state & has_readers) != 0 ? has_before_readers : 0) |
            ((state & has_writers) != 0 && (state & covered) == 0 ? has_before_writers : 0);
    high[slot] = u.end;
  }
  if (high[slot] < u.end) high[slot] = u.end;
  if (writes) {
    writers[slot] = (state & has_writers) == 0 || writers[slot] == event ? event : -1;
  } else {
    readers[slot] = (state & has_readers) == 0 || readers[slot] == event ? event : -1;
  }
  states[slot] = grouped ? state | (writes ? has_writers : has_readers) : pairs;
  return grouped;
}

/// Chains the uses of every slot back through reference order and notes the tasks' positions, for pairs. A task that is
/// one too many for the size, or -1.
template <class Flow, class Schedule, class Scratch>
constexpr int link_accesses(const Flow& f, const Schedule& s, Scratch& x) {
  for (int i = 0, slots = f.size.slots; i < slots; ++i) x.last[i] = -1;
  for (int t = 0, tasks = f.size.tasks; t < tasks; ++t) x.position[t] = 0;  // written in another order next
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
/// conflicts with that writer and is already known to precede it. Returns a task that `t` is not known to follow, or
/// -1.
template <class Flow, class Schedule, class Scratch, class Counts>
constexpr int unordered_pair(const Flow& f, const Schedule& s, const Scratch& x, const Counts& count, int t, int a) {
  const task k = f.task[t];
  const bool writes = f.access[a].mode == access_mode::write;
  const slot_interval u = interval_of(k, f.access[a]);
  if (u.begin >= u.end) return -1;
  for (int b = x.previous[x.access_use[t] + a - k.access_begin]; b >= 0; b = x.previous[b]) {
    const int other = x.owner[b];
    const access earlier = f.access[f.task[other].access_begin + b - x.access_use[other]];
    const slot_interval v = interval_of(f.task[other], earlier);
    const bool wrote = earlier.mode == access_mode::write;
    if (other == t || v.begin >= u.end || v.end <= u.begin || v.begin >= v.end || !(writes || wrote)) continue;
    if (!follows_task(f, s, x, count, t, other, witness_depth)) return other;
    if (wrote && v.begin <= u.begin && v.end >= u.end) return -1;
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

/// Whether the read `a` lies inside the write behind it, of the same slot and task: it conflicts with nothing that the
/// write does not.
template <class Flow>
constexpr bool overwritten_beside(const Flow& f, int a) {
  const access read = f.access[a], next = f.access[a + 1];
  return next.mode == access_mode::write && next.step == read.step && next.begin <= read.begin && next.end >= read.end;
}

/// Second half: every conflict has a witness. Runs of tiles in reference order, each access once for all tiles: its
/// intervals are grouped as their hull, which is exact for reads and for writes whose step keeps them apart. The common
/// cases are written out in the loop because a constexpr call costs as much as ten statements: a write above the
/// present ones or to a fresh slot, a read behind the first wait, a member that signals what its group does. Writers
/// join by their first signal, readers by their last: a task that tells others of its result and of a buffer that it is
/// done with does so in that order.
template <class Flow, class Schedule, class Scratch, class Runs, class Counts, class States, class Ends, class Writers,
          class Readers>
constexpr verify_status verify_conflicts(const Flow& f, const Schedule& s, Scratch& x, const Runs& run_end,
                                         Counts& count, States& states, Ends& high, Writers& writers,
                                         Readers& readers) {
  bool numbered = false, linked = false, witnessed = false, apart = true;
  int joined = -2, written = -1, read = -1, state = 0, slot = 0, further = 0, event = 0;
  access u{};
  for (int i = 0, slots = f.size.slots; i < slots; ++i) states[i] = 0;
  for (int first = 0, past = 0, tasks = f.size.tasks; first < tasks; first = past) {
    past = -run_end[first];
    further = past - first - 1;
    const task k = f.task[first];
    joined = -2;  // an event whose every signaller has ended
    for (int i = k.wait_begin; i < k.wait_end; ++i) {
      const wait w = f.wait[i];
      event = w.event + k.first_event;
      if (w.threshold == count[event]) {
        if (i == k.wait_begin) joined = event;
        continue;
      }
      if (numbered) continue;
      numbered = true;
      const verify_status found = verify_partial_waits(f, s, x, count);
      if (found.code != verify_code::ok) return found;
    }
    written = read = -1;  // the events by which writes and reads join a group
    if (k.signal_begin < k.signal_end) {
      read = written = f.signal[k.signal_begin] + k.first_event;
      if (k.signal_begin + 1 < k.signal_end) read = f.signal[k.signal_end - 1] + k.first_event;
    }
    for (int a = k.access_begin; a < k.access_end; ++a) {
      u = f.access[a];
      if (u.begin >= u.end) continue;
      apart = further == 0;  // no two tiles write the same unit
      if (u.step != 0) {
        apart = u.step >= u.end - u.begin;
        if (k.part != 0) {
          u.begin += k.part * u.step;
          u.end += k.part * u.step;
        }
        (u.step > 0 ? u.end : u.begin) += further * u.step;
      }
      slot = u.slot + k.first_slot;
      state = states[slot];
      if (u.mode == access_mode::write) {
        if (state == 0 && apart) {
          states[slot] = has_writers;
          writers[slot] = written;
          high[slot] = u.end;
          continue;
        }
        if (state == has_writers && high[slot] <= u.begin && writers[slot] == written && apart) {
          high[slot] = u.end;
          continue;
        }
      } else {
        apart = true;  // reads do not conflict
        if (a + 1 < k.access_end && f.access[a + 1].slot == u.slot && overwritten_beside(f, a)) continue;
        if (state == has_writers && writers[slot] == joined) {
          states[slot] = has_writers + has_readers + covered;
          readers[slot] = read;
          if (high[slot] < u.end) high[slot] = u.end;
          continue;
        }
        if ((state & pairs) == 0 && ((state & has_writers) == 0 || writers[slot] == joined)) {
          if ((state & has_readers) == 0) {
            readers[slot] = read;
          } else if (readers[slot] != read) {
            readers[slot] = -1;
          }
          states[slot] = state | has_readers | ((state & has_writers) != 0 ? covered : 0);
          if (state == 0 || high[slot] < u.end) high[slot] = u.end;
          continue;
        }
      }
      u.slot = slot;
      if (!witnessed) find_first_signallers(f, s, x);
      witnessed = true;
      if ((state & pairs) == 0 && apart &&
          place_access(f, x, count, states, high, writers, readers, first, u,
                       u.mode == access_mode::write ? written : read))
        continue;
      states[slot] = pairs;
      if (!numbered && !linked && waits_in_part(f, run_end, count, first)) {
        numbered = true;
        const verify_status found = verify_partial_waits(f, s, x, count);
        if (found.code != verify_code::ok) return found;
      }
      if (!linked) {
        const int excess = link_accesses(f, s, x);
        if (excess >= 0) return {verify_code::use_total_differs, excess};
      }
      linked = true;
      const verify_status found = verify_pairs(f, s, x, count, first, past, slot);
      if (found.code != verify_code::ok) return found;
    }
  }
  return {};
}

/// Both halves, with the arrays of the scratch that they write most as arguments of their own: an element of an array
/// that is no member costs a constant evaluation half.
template <class Flow, class Schedule, class Scratch, class Runs, class Queues, class Counts, class States, class Ends,
          class Writers, class Readers>
constexpr verify_status verify_all(const Flow& f, const Schedule& s, Scratch& x, Runs& run_end, Queues& queue_next,
                                   Counts& count, States& states, Ends& high, Writers& writers, Readers& readers) {
  const verify_status order = verify_order(f, s, x, run_end, queue_next, count);
  if (order.code != verify_code::ok) return order;
  return verify_conflicts(f, s, x, run_end, count, states, high, writers, readers);
}

}  // namespace detail

/// Proves that `s` runs `f` safely, or names task, event and slot of the first thing that it cannot prove.
/// Domain: indices inside the flow's and the schedule's arrays (`check_flow`). Complexity: O(tasks + waits + signals +
/// accesses) where groups hold; a slot used in pairs costs the length of its history back to a covering writer.
template <class Flow, class Schedule, class Scratch>
constexpr verify_status verify(const Flow& f, const Schedule& s, Scratch& x) {
  return detail::verify_all(f, s, x, x.run_end, x.queue_next, x.count, x.state, x.high, x.writers, x.readers);
}

/// The same with its own working memory, for constant evaluation.
template <taskflow_size Size, int Queues>
constexpr verify_status verify(const fixed_taskflow<Size>& f, const fixed_schedule<Size.tasks, Queues>& s) {
  fixed_verify_scratch<Size, Queues> x;
  int run_end[Size.tasks + 1] = {}, queue_next[Queues + 1] = {}, count[Size.events + 1] = {};
  int states[Size.slots + 1] = {}, high[Size.slots + 1] = {}, writers[Size.slots + 1] = {},
                          readers[Size.slots + 1] = {};
  return detail::verify_all(f, s, x, run_end, queue_next, count, states, high, writers, readers);
}

}  // namespace hyperparallel
