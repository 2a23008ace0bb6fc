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

/// A slot's groups. A group is what a later access has to follow; `before_*` are the groups that every member of
/// `writers` follows.
enum which_group { writers, readers, before_writers, before_readers };

/// Bits of a slot's state: which groups have members, in the groups' order, and what is known about them.
enum slot_state {
  has_writers = 1 << writers,
  has_readers = 1 << readers,
  has_before_writers = 1 << before_writers,
  has_before_readers = 1 << before_readers,
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

/// Puts an access, of task `t` and the other tiles of its run, into the groups of its slot, which is in groups and has
/// been used before. `u` spans the intervals of all tiles; writes of tiles are disjoint. All tiles have the same waits,
/// so what one follows, all follow. `event`: the one by which the run joins its group. False: groups cannot express it,
/// the slot goes over to pairs.
template <class Flow, class Scratch>
constexpr bool place_access(const Flow& f, Scratch& x, int t, const access& u, int event) {
  const int base = 4 * u.slot;
  int state = x.state[u.slot];
  const auto after = [&](int has, which_group which) {
    const int common = x.group_event[base + which];
    return (state & has) == 0 || (common >= 0 && follows_all(f, x, t, common, witness_depth));
  };
  const bool writes = u.mode == access_mode::write;
  bool grouped = true;
  if (!writes) {
    grouped = after(has_writers, writers);
    if ((state & has_writers) != 0) state |= covered;
  } else if (x.high[u.slot] <= u.begin) {
    grouped = after(has_before_readers, before_readers) && after(has_before_writers, before_writers);
    state &= ~covered;
  } else {
    // A write that meets the present groups begins new ones after them.
    grouped = after(has_readers, readers) && ((state & covered) != 0 || after(has_writers, writers));
    x.group_event[base + before_writers] = x.group_event[base + writers];
    x.group_event[base + before_readers] = x.group_event[base + readers];
    state = ((state & has_readers) != 0 ? has_before_readers : 0) |
            ((state & has_writers) != 0 && (state & covered) == 0 ? has_before_writers : 0);
    x.high[u.slot] = u.end;
  }
  if (x.high[u.slot] < u.end) x.high[u.slot] = u.end;
  const int i = base + (writes ? writers : readers), has = writes ? has_writers : has_readers;
  x.group_event[i] = (state & has) == 0 || x.group_event[i] == event ? event : -1;
  x.state[u.slot] = grouped ? state | has : pairs;
  return grouped;
}

/// Chains the uses of every slot back through reference order, for pairs. A task that is one too many for the size, or
/// -1.
template <class Flow, class Scratch>
constexpr int link_accesses(const Flow& f, Scratch& x) {
  for (int i = 0, slots = f.size.slots; i < slots; ++i) x.last[i] = -1;
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

/// Second half: every conflict has a witness. Runs of tiles in reference order, each access once for all tiles: its
/// intervals are grouped as their hull, which is exact for reads and for writes whose step keeps them apart. The common
/// cases are written out in the loop because a constexpr call costs as much as ten statements: a write above the
/// present ones or to a fresh slot, a read behind the first wait, a member that signals what its group does. Writers
/// join by their first signal, readers by their last: a task that tells others of its result and of a buffer that it is
/// done with does so in that order.
template <class Flow, class Schedule, class Scratch>
constexpr verify_status verify_conflicts(const Flow& f, const Schedule& s, Scratch& x) {
  bool linked = false, apart = true;
  int joined = -2, written = -1, read = -1, state = 0, i = 0;
  access u{};
  for (int slot = 0, slots = f.size.slots; slot < slots; ++slot) x.state[slot] = 0;
  for (int first = 0, past = 0, tasks = f.size.tasks; first < tasks; first = past) {
    past = x.run_end[first];
    const task k = f.task[first];
    joined = -2;  // an event whose every signaller has ended
    if (k.wait_begin < k.wait_end) {
      if (f.wait[k.wait_begin].threshold == x.count[f.wait[k.wait_begin].event]) joined = f.wait[k.wait_begin].event;
    }
    written = read = -1;  // the events by which writes and reads join a group
    if (k.signal_begin < k.signal_end) {
      read = written = f.signal[k.signal_begin];
      if (k.signal_begin + 1 < k.signal_end) read = f.signal[k.signal_end - 1];
    }
    for (int a = k.access_begin; a < k.access_end; ++a) {
      u = f.access[a];
      if (u.begin >= u.end) continue;
      apart = true;  // no two tiles write the same unit
      if (u.step != 0) {
        apart = u.step >= u.end - u.begin;
        if (k.part != 0) u.begin += k.part * u.step;
        if (k.part != 0) u.end += k.part * u.step;
        (u.step > 0 ? u.end : u.begin) += (past - first - 1) * u.step;
      } else if (past - first > 1) {
        apart = false;
      }
      state = x.state[u.slot];
      i = 4 * u.slot;
      if (u.mode == access_mode::write) {
        if (state == 0 && apart) {
          x.state[u.slot] = has_writers;
          x.group_event[i] = written;
          x.high[u.slot] = u.end;
          continue;
        }
        if (state == has_writers && x.high[u.slot] <= u.begin && x.group_event[i] == written && apart) {
          x.high[u.slot] = u.end;
          continue;
        }
      } else {
        apart = true;  // reads do not conflict
        // A read inside the task's own write next to it conflicts with nothing that the write does not.
        if (a + 1 < k.access_end && f.access[a + 1].slot == u.slot && f.access[a + 1].mode == access_mode::write &&
            f.access[a + 1].step == u.step && f.access[a + 1].begin <= f.access[a].begin &&
            f.access[a + 1].end >= f.access[a].end)
          continue;
        if ((state & pairs) == 0 && ((state & has_writers) == 0 || x.group_event[i] == joined) &&
            ((state & has_readers) == 0 || x.group_event[i + readers] == read)) {
          const int next = state | has_readers | ((state & has_writers) != 0 ? covered : 0);
          if (next != state) {
            x.state[u.slot] = next;
            x.group_event[i + readers] = read;
          }
          if (state == 0 || x.high[u.slot] < u.end) x.high[u.slot] = u.end;
          continue;
        }
      }
      if ((state & pairs) == 0 && apart && place_access(f, x, first, u, u.mode == access_mode::write ? written : read))
        continue;
      x.state[u.slot] = pairs;
      if (!linked) {
        const int excess = link_accesses(f, x);
        if (excess >= 0) return {verify_code::use_total_differs, excess};
      }
      linked = true;
      const verify_status found = verify_pairs(f, s, x, first, past, u.slot);
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
