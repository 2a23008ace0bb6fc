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
template <class Flow, class Scratch>
constexpr bool follows_all(const Flow& f, const Scratch& x, int t, int event, int depth) {
  const int wait_end = f.task[t].wait_end, total = x.count[event];
  for (int w = f.task[t].wait_begin; w < wait_end; ++w)
    if (f.wait[w].event == event && f.wait[w].threshold == total) return true;
  if (depth > 0)
    for (int w = f.task[t].wait_begin; w < wait_end; ++w)
      if (follows_all(f, x, x.first_signaller[f.wait[w].event], event, depth - 1)) return true;
  return false;
}

/// Task `a` has ended before `t` begins, or is `t`. A wait of threshold k implies each signal of ordinal <= k: for a
/// total trivially, else because one queue signals in order.
template <class Flow, class Schedule, class Scratch>
constexpr bool follows_task(const Flow& f, const Schedule& s, const Scratch& x, int t, int a, int depth) {
  if (s.queue[a] == s.queue[t] && x.position[a] <= x.position[t]) return true;
  const int wait_end = f.task[t].wait_end, signal_begin = f.task[a].signal_begin, signal_end = f.task[a].signal_end;
  for (int w = f.task[t].wait_begin; w < wait_end; ++w)
    for (int g = signal_begin; g < signal_end; ++g)
      if (f.signal[g] == f.wait[w].event && (f.wait[w].threshold == x.count[f.wait[w].event] ||
                                             x.ordinal[x.signal_use[a] + g - signal_begin] <= f.wait[w].threshold))
        return true;
  if (depth > 0)
    for (int w = f.task[t].wait_begin; w < wait_end; ++w)
      if (follows_task(f, s, x, x.first_signaller[f.wait[w].event], a, depth - 1)) return true;
  return false;
}

/// What fast cases do without: the first signaller of each event in the plan's order.
template <class Flow, class Schedule, class Scratch>
constexpr void find_first_signallers(const Flow& f, const Schedule& s, Scratch& x) {
  for (int e = 0, events = f.size.events; e < events; ++e) x.first_signaller[e] = -1;
  for (int p = f.size.tasks - 1; p >= 0; --p) {
    const int t = s.order[p], signal_end = f.task[t].signal_end;
    for (int g = f.task[t].signal_begin; g < signal_end; ++g) x.first_signaller[f.signal[g]] = t;
  }
}

/// Puts an access, of task `t` and the other tiles of its run, into the groups of its slot, which is in groups and has
/// been used before. `u` spans the intervals of all tiles; writes of tiles are disjoint. All tiles have the same waits,
/// so what one follows, all follow. `event`: the one by which the run joins its group. False: groups cannot express it,
/// the slot goes over to pairs.
template <class Flow, class Scratch>
constexpr bool place_access(const Flow& f, Scratch& x, int t, const access& u, int event) {
  const int slot = u.slot;
  int state = x.state[slot];
  const auto after = [&](int has, int common) {
    return (state & has) == 0 || (common >= 0 && follows_all(f, x, t, common, witness_depth));
  };
  const bool writes = u.mode == access_mode::write;
  bool grouped = true;
  if (!writes) {
    grouped = after(has_writers, x.writers[slot]);
    if ((state & has_writers) != 0) state |= covered;
  } else if (x.high[slot] <= u.begin) {
    grouped = after(has_before_readers, x.before_readers[slot]) && after(has_before_writers, x.before_writers[slot]);
    state &= ~covered;
  } else {
    // A write that meets the present groups begins new ones after them.
    grouped = after(has_readers, x.readers[slot]) && ((state & covered) != 0 || after(has_writers, x.writers[slot]));
    x.before_writers[slot] = x.writers[slot];
    x.before_readers[slot] = x.readers[slot];
    state = ((state & has_readers) != 0 ? has_before_readers : 0) |
            ((state & has_writers) != 0 && (state & covered) == 0 ? has_before_writers : 0);
    x.high[slot] = u.end;
  }
  if (x.high[slot] < u.end) x.high[slot] = u.end;
  if (writes) {
    x.writers[slot] = (state & has_writers) == 0 || x.writers[slot] == event ? event : -1;
  } else {
    x.readers[slot] = (state & has_readers) == 0 || x.readers[slot] == event ? event : -1;
  }
  x.state[slot] = grouped ? state | (writes ? has_writers : has_readers) : pairs;
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
      const int slot = f.access[a].slot;
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
template <class Flow, class Schedule, class Scratch>
constexpr int unordered_pair(const Flow& f, const Schedule& s, const Scratch& x, int t, int a) {
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
    if (!follows_task(f, s, x, t, other, witness_depth)) return other;
    if (wrote && v.begin <= u.begin && v.end >= u.end) return -1;
  }
  return -1;
}

/// Pairs for all uses of `slot` by the tiles [first, past) of a run, tile by tile: a tile's use also meets those that
/// the tiles before it make by other accesses.
template <class Flow, class Schedule, class Scratch>
constexpr verify_status verify_pairs(const Flow& f, const Schedule& s, Scratch& x, int first, int past, int slot) {
  for (int t = first; t < past; ++t)
    for (int a = f.task[t].access_begin, end = f.task[t].access_end; a < end; ++a) {
      if (f.access[a].slot != slot) continue;
      const int other = unordered_pair(f, s, x, t, a);
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
template <class Flow, class Schedule, class Scratch>
constexpr verify_status verify_conflicts(const Flow& f, const Schedule& s, Scratch& x) {
  bool linked = false, witnessed = false, apart = true;
  int joined = -2, written = -1, read = -1, state = 0, slot = 0, further = 0;
  access u{};
  for (int i = 0, slots = f.size.slots; i < slots; ++i) x.state[i] = 0;
  for (int first = 0, past = 0, tasks = f.size.tasks; first < tasks; first = past) {
    past = -x.run_end[first];
    further = past - first - 1;
    const task k = f.task[first];
    joined = -2;  // an event whose every signaller has ended
    if (k.wait_begin < k.wait_end) {
      const wait w = f.wait[k.wait_begin];
      if (w.threshold == x.count[w.event]) joined = w.event;
    }
    written = read = -1;  // the events by which writes and reads join a group
    if (k.signal_begin < k.signal_end) {
      read = written = f.signal[k.signal_begin];
      if (k.signal_begin + 1 < k.signal_end) read = f.signal[k.signal_end - 1];
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
      slot = u.slot;
      state = x.state[slot];
      if (u.mode == access_mode::write) {
        if (state == 0 && apart) {
          x.state[slot] = has_writers;
          x.writers[slot] = written;
          x.high[slot] = u.end;
          continue;
        }
        if (state == has_writers && x.high[slot] <= u.begin && x.writers[slot] == written && apart) {
          x.high[slot] = u.end;
          continue;
        }
      } else {
        apart = true;  // reads do not conflict
        if (a + 1 < k.access_end && f.access[a + 1].slot == slot && overwritten_beside(f, a)) continue;
        if (state == has_writers && x.writers[slot] == joined) {
          x.state[slot] = has_writers + has_readers + covered;
          x.readers[slot] = read;
          if (x.high[slot] < u.end) x.high[slot] = u.end;
          continue;
        }
        if ((state & pairs) == 0 && ((state & has_writers) == 0 || x.writers[slot] == joined)) {
          if ((state & has_readers) == 0) {
            x.readers[slot] = read;
          } else if (x.readers[slot] != read) {
            x.readers[slot] = -1;
          }
          x.state[slot] = state | has_readers | ((state & has_writers) != 0 ? covered : 0);
          if (state == 0 || x.high[slot] < u.end) x.high[slot] = u.end;
          continue;
        }
      }
      if (!witnessed) find_first_signallers(f, s, x);
      witnessed = true;
      if ((state & pairs) == 0 && apart && place_access(f, x, first, u, u.mode == access_mode::write ? written : read))
        continue;
      x.state[slot] = pairs;
      if (!linked) {
        const int excess = link_accesses(f, s, x);
        if (excess >= 0) return {verify_code::use_total_differs, excess};
      }
      linked = true;
      const verify_status found = verify_pairs(f, s, x, first, past, slot);
      if (found.code != verify_code::ok) return found;
    }
  }
  return {};
}

}  // namespace detail

/// Proves that `s` runs `f` safely, or names task, event and slot of the first thing that it cannot prove.
/// Domain: indices inside the flow's and the schedule's arrays (`check_flow`). Complexity: O(tasks + waits + signals +
/// accesses) where groups hold; a slot used in pairs costs the length of its history back to a covering writer.
template <class Flow, class Schedule, class Scratch>
constexpr verify_status verify(const Flow& f, const Schedule& s, Scratch& x) {
  const verify_status order = detail::verify_order(f, s, x);
  return order.code != verify_code::ok ? order : detail::verify_conflicts(f, s, x);
}

/// The same with its own working memory, for constant evaluation.
template <taskflow_size Size, int Queues>
constexpr verify_status verify(const fixed_taskflow<Size>& f, const fixed_schedule<Size.tasks, Queues>& s) {
  fixed_verify_scratch<Size, Queues> x;
  return verify(f, s, x);
}

}  // namespace hyperparallel
