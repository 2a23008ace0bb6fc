// SPDX-License-Identifier: Apache-2.0
#pragma once
// The local rule: a fast proof that a plan is safe in every interleaving of task begins and ends.
//
// It proves that (1) every task runs exactly once, on a queue of its class and rank, and all complete: `order` is a
// sequential run that respects queues and waits, and monotone counters make one complete run a proof for all; (2) of
// two tasks that conflict on a slot, the earlier in reference order has ended before the later begins. (3) No address
// serves two tensors at once, and no tier overflows: `check_flow` proves that slots are disjoint ranges inside their
// tier, so only uses of one slot share addresses, and (2) holds for them. (4) One-sided writes land only where nobody
// reads yet: they are accesses of a task of another rank and obey (2).
//
// Accesses of a slot are grouped into a *writer group* (rising ranges) and the readers after it; a group whose members
// all signal one event is passed in O(1) by a wait for that event's total, see verify_groups.hpp. Where that fails the
// slot goes over to pairs, see verify_pairs.hpp. Law: the rule may refuse a safe plan, it never accepts an unsafe one.
// It trusts no count of the builder: totals of signals and slot versions are derived here.
//
// Of a macro task the heads are held against what is before it, and what is behind it is held against the tails; heads
// and tails of one are not held against each other. The law is then that of macro_check.hpp, which also says what more
// a flow with macro tasks needs.
//
// That the algorithm obeys this law is proved in proofs/verify.v; that this code computes the same verdict is tested.
// A change of the rule needs the same change there: the suite `proofs` of scripts/test compares the two.

#include <hyperparallel/support/array_bound.hpp>
#include <hyperparallel/taskflow/verify_groups.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// The macro tasks in reference order: heads stand together and behind them their tails, one task each, and numbers rise.
struct macro_sequence {
  int instance = 0, behind = 0, highest = 0;
  constexpr bool admits(int next, int first, int past) {
    const bool goes_on = behind == first && (next == instance || (instance < 0 && next == -instance));
    if (past != first + 1 || (!goes_on && -next <= highest)) return false;
    instance = next;
    behind = past;
    if (-next > highest) highest = -next;
    return true;
  }
};

/// What the fast ways do without, of the whole flow: whether it has been found.
struct witness_tables {
  bool numbered = false;   ///< signals of events that are waited for in part
  bool linked = false;     ///< uses of each slot
  bool witnessed = false;  ///< first signallers
};

/// Numbers the signals, at the first wait for a part of an event.
template <class Flow, class Schedule, class Scratch, class Counts>
constexpr verify_status number_signals(const Flow& f, const Schedule& s, Scratch& x, Counts& count,
                                       witness_tables& found) {
  found.numbered = true;
  return verify_partial_waits(f, s, x, count);
}

/// Judges uses of a slot one by one, from run [first, past) on.
template <class Flow, class Schedule, class Scratch, class Runs, class Counts>
constexpr verify_status judge_by_pairs(const Flow& f, const Schedule& s, Scratch& x, const Runs& run_end, Counts& count,
                                       witness_tables& found, int first, int past, int slot) {
  if (!found.linked) {
    if (!found.numbered && waits_in_part(f, run_end, count, first)) {
      const verify_status numbered = number_signals(f, s, x, count, found);
      if (numbered.code != verify_code::ok) return numbered;
    }
    const int excess = link_accesses(f, s, x);
    if (excess >= 0) return {verify_code::use_total_differs, excess};
    found.linked = true;
  }
  return verify_pairs(f, s, x, count, first, past, slot);
}

/// Judges a use that no fast way admits: by the groups of its slot, or by pairs from then on. `written`, `read`: the
/// events by which the run's writes and reads join a group; `apart`: no two of its tiles write the same unit.
template <class Flow, class Schedule, class Scratch, class Runs, class Counts, class States, class Ends, class Writers,
          class Readers>
constexpr verify_status judge_use(const Flow& f, const Schedule& s, Scratch& x, const Runs& run_end, Counts& count,
                                  States& states, Ends& high, Writers& writers, Readers& readers, witness_tables& found,
                                  int first, int past, const access& u, bool apart, int written, int read) {
  const int slot = u.slot, instance = f.task[first].instance;
  const bool grouped = (states[slot] & pairs) == 0;
  if (instance > 0) {
    if (grouped) record_tail(states, high, writers, readers, instance, u, written, read);
    return {};
  }
  if (!found.witnessed) find_first_signallers(f, s, x, run_end);
  found.witnessed = true;
  if (grouped && instance != 0) {
    if (place_head(f, x, count, states, high, writers, readers, first, u)) return {};
  } else if (grouped && apart &&
             place_access(f, x, count, states, high, writers, readers, first, u,
                          u.mode == access_mode::write ? written : read)) {
    return {};
  }
  states[slot] = pairs;
  return judge_by_pairs(f, s, x, run_end, count, found, first, past, slot);
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
  macro_sequence macros;
  witness_tables found;
  verify_status refused;
  bool apart = true, alone = true;
  int joined = -2, written = -1, read = -1, state = 0, slot = 0, further = 0, event = 0;
  access u{};
  for (int i = 0, slots = f.size.slots; i < slots; ++i) states[i] = 0;
  for (int first = 0, past = 0, tasks = f.size.tasks; first < tasks; first = past) {
    past = -run_end[first];
    const task k = f.task[first];
    if (k.instance != 0 && !macros.admits(k.instance, first, past))
      return {verify_code::instance_is_not_together, first};
    if (k.access_begin == k.access_end && k.wait_begin == k.wait_end) continue;
    alone = past == first + 1 && k.instance == 0;
    further = past - first - 1;
    joined = -2;  // an event whose every signaller has ended
    for (int i = k.wait_begin; i < k.wait_end; ++i) {
      const wait w = f.wait[i];
      event = w.event + k.first_event;
      if (w.threshold == count[event]) {
        if (i == k.wait_begin && k.instance == 0) joined = event;
      } else if (!found.numbered) {
        refused = number_signals(f, s, x, count, found);
        if (refused.code != verify_code::ok) return refused;
      }
    }
    // The events by which writes and reads join a group.
    written = k.signal_begin < k.signal_end ? f.signal[k.signal_begin] + k.first_event : -1;
    read = k.signal_begin + 1 < k.signal_end ? f.signal[k.signal_end - 1] + k.first_event : written;
    for (int a = k.access_begin; a < k.access_end; ++a) {
      u = f.access[a];
      if (u.begin >= u.end) continue;
      apart = alone;  // no two tiles write the same unit
      if (u.step != 0) {
        apart = u.step >= u.end - u.begin && (alone || further != 0);
        if (k.part != 0) {
          u.begin += k.part * u.step;
          u.end += k.part * u.step;
        }
        (u.step > 0 ? u.end : u.begin) += further * u.step;
      }
      slot = u.slot + k.first_slot;
      state = states[slot];
      if (u.mode == access_mode::write) {
        if (apart && (state == 0 || (state == has_writers && high[slot] <= u.begin && writers[slot] == written))) {
          states[slot] = has_writers;
          writers[slot] = written;
          high[slot] = u.end;
          continue;
        }
      } else {
        apart = true;  // reads do not conflict
        if (a + 1 < k.access_end && f.access[a + 1].slot == u.slot && overwritten_beside(f, a)) continue;
        if ((state & pairs) == 0 && ((state & has_writers) == 0 || writers[slot] == joined) && k.instance == 0) {
          readers[slot] = (state & has_readers) == 0 || readers[slot] == read ? read : -1;
          states[slot] = state | has_readers | ((state & has_writers) != 0 ? covered : 0);
          if (state == 0 || high[slot] < u.end) high[slot] = u.end;
          continue;
        }
      }
      u.slot = slot;
      refused = judge_use(f, s, x, run_end, count, states, high, writers, readers, found, first, past, u, apart,
                          written, read);
      if (refused.code != verify_code::ok) return refused;
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
  const verify_status order = verify_order(f, s, run_end, queue_next, count);
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
  detail::fixed_verify_scratch<Size, Queues> x;
  int run_end[detail::array_bound(Size.tasks + 1)] = {}, queue_next[detail::array_bound(Queues + 1)] = {},
                                               count[detail::array_bound(Size.events + 1)] = {};
  int states[detail::array_bound(Size.slots + 1)] = {}, high[detail::array_bound(Size.slots + 1)] = {},
                                              writers[detail::array_bound(Size.slots + 1)] = {},
                                              readers[detail::array_bound(Size.slots + 1)] = {};
  return detail::verify_all(f, s, x, run_end, queue_next, count, states, high, writers, readers);
}

}}  // namespace hyperparallel::v0_2
