// SPDX-License-Identifier: Apache-2.0
#pragma once
// Groups: the part of the local rule that judges the uses of a slot in O(1) each, as long as they fall into a group of
// present writers, the readers after them, and the groups before. A group is passed by a wait for the one event that
// all its members signal.
//
// Laws: an access that passes the groups it meets follows every earlier use that it conflicts with; what is found for
// one tile of a run holds for all, since only waits are used, never the order of a queue. Of macro tasks
// (macro_task.hpp) heads pass groups, and tails are their members.

#include <hyperparallel/taskflow/verify_pairs.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Bits of a slot's state: which groups have members, and what is known about them. A group is what a later access has
/// to follow; the groups before are those that every present writer follows.
///
/// Invariant: the uses of a slot in groups are the present writers, the present readers and everything older. Every
/// present writer follows everything older. What passes both groups before follows everything older, too. So an access
/// that passes the groups it meets follows every earlier use that it conflicts with.
enum slot_state {
  has_writers = 1,
  has_readers = 2,
  has_before_writers = 4,
  has_before_readers = 8,
  covered = 16,       ///< some reader follows all writers
  pairs = 32,         ///< no longer in groups
  first_member = 64,  ///< times the number of the macro task whose tails are the present groups' first members
};

/// All signallers of `event` have ended before `t` begins. Law: this uses waits alone, never the order of a queue.
/// Groups judge a run of tiles once, and the tiles share their waits but not their queues: with queue order, what is
/// found for one tile would not hold for the others. By waits alone, two tiles of an accepted run never conflict: one
/// would have to follow itself, and in a plan that completes no task does.
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

/// Puts the head `t` of a macro task behind the groups of a slot, which is in groups. It follows all that is there, or,
/// to read, all writers: stricter than it need be where intervals do not meet. With the first head that writes, the
/// groups become those before; the tails make the present ones. Above its bits the state has the number of the macro
/// task whose members do. False: groups cannot express it.
template <class Flow, class Scratch, class Counts, class States, class Ends, class Writers, class Readers>
constexpr bool place_head(const Flow& f, Scratch& x, const Counts& count, States& states, Ends& high, Writers& writers,
                          Readers& readers, int t, const access& u) {
  const int slot = u.slot, state = states[slot], own = -f.task[t].instance * first_member;
  const auto after = [&](int has, int common) {
    return (state & has) == 0 || (common >= 0 && follows_all(f, x, count, t, common, witness_depth));
  };
  if (high[slot] < u.end || state == 0) high[slot] = u.end;
  if (state >= own)
    return after(has_before_writers, x.before_writers[slot]) &&
           (u.mode == access_mode::read || after(has_before_readers, x.before_readers[slot]));
  if (!after(has_writers, writers[slot])) return false;
  if (u.mode == access_mode::read) return true;
  if (!after(has_readers, readers[slot])) return false;
  x.before_writers[slot] = writers[slot];
  x.before_readers[slot] = readers[slot];
  states[slot] = own + ((state & has_writers) != 0 ? has_before_writers : 0) +
                 ((state & has_readers) != 0 ? has_before_readers : 0);
  return true;
}

/// Counts a tail among the present writers or readers of a slot, which is in groups: its head follows what it has to.
template <class States, class Ends, class Writers, class Readers>
constexpr void record_tail(States& states, Ends& high, Writers& writers, Readers& readers, int instance,
                           const access& u, int written, int read) {
  const int slot = u.slot, state = states[slot];
  if (high[slot] < u.end || state == 0) high[slot] = u.end;
  if (u.mode == access_mode::write) {
    writers[slot] = (state & has_writers) == 0 || writers[slot] == written ? written : -1;
    states[slot] = state | has_writers;
    return;
  }
  readers[slot] = (state & has_readers) == 0 || readers[slot] == read ? read : -1;
  // Readers of a macro task that also writes the slot do not follow its writers.
  states[slot] = state | has_readers | (state < instance * first_member && (state & has_writers) != 0 ? covered : 0);
}

/// Whether the read `a` lies inside the write behind it, of the same slot and task: it conflicts with nothing that the
/// write does not.
template <class Flow>
constexpr bool overwritten_beside(const Flow& f, int a) {
  const access read = f.access[a], next = f.access[a + 1];
  return next.mode == access_mode::write && next.step == read.step && next.begin <= read.begin && next.end >= read.end;
}

}}}  // namespace hyperparallel::v0_2::detail
