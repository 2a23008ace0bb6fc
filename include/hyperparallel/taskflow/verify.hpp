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
// grouped into a *writer group* (disjoint ranges) and the readers after it; a group whose members all signal one event,
// or share one queue, is passed in O(1). Where that fails the slot goes over to pairs: back through its history to the
// last writer that covers the range. Law: the rule may refuse a safe plan, it never accepts an unsafe one. It trusts no
// count of the builder: totals of signals and slot versions are derived here.

#include <cstdint>

#include <hyperparallel/taskflow/scratch.hpp>
#include <hyperparallel/taskflow/storage.hpp>

namespace hyperparallel {

enum class verify_code : unsigned char {
  ok,
  task_count_differs,
  queue_bounds_are_wrong,
  task_outside_the_flow,
  task_appears_twice,
  queue_of_another_class_or_rank,
  queue_disagrees_with_order,
  wait_is_never_satisfied,
  threshold_is_out_of_range,
  partial_threshold_over_several_queues,
  conflict_is_not_ordered,
};

/// `task` is the one at fault; `other` the earlier task that a conflict leaves unordered; -1 where a field says
/// nothing.
struct verify_status {
  verify_code code = verify_code::ok;
  int task = -1, other = -1, event = -1, slot = -1;
  friend constexpr bool operator==(const verify_status&, const verify_status&) = default;
};

constexpr const char* to_text(verify_code c) {
  switch (c) {
    case verify_code::ok:
      return "ok";
    case verify_code::task_count_differs:
      return "the schedule holds another number of tasks than the flow";
    case verify_code::queue_bounds_are_wrong:
      return "the queues' bounds do not partition the tasks";
    case verify_code::task_outside_the_flow:
      return "the order names a task that the flow does not have";
    case verify_code::task_appears_twice:
      return "a task appears twice";
    case verify_code::queue_of_another_class_or_rank:
      return "a task sits in a queue of another class or rank";
    case verify_code::queue_disagrees_with_order:
      return "a queue's order disagrees with the plan's order";
    case verify_code::wait_is_never_satisfied:
      return "a wait needs a signal that comes later in the plan's order";
    case verify_code::threshold_is_out_of_range:
      return "a threshold is outside 1 .. total of signals";
    case verify_code::partial_threshold_over_several_queues:
      return "a threshold below the total, while the event's signallers sit in several queues";
    case verify_code::conflict_is_not_ordered:
      return "two conflicting uses of a slot are not ordered by a witness";
  }
  return "unknown";
}

namespace detail {

/// Accesses that a later one has to follow. `event`: one that all signal, `ordinal` the last of those signals; `queue`:
/// one that holds all, `position` the last of them in the plan's order. -1: members share none.
struct access_group {
  int members = 0;
  int first = -1;
  int event = -1, ordinal = 0;
  int queue = -1, position = 0;
};

/// A slot's groups, at `4 * slot + which`. `before_*`: the groups that every member of `writers` follows.
enum which_group { writers, readers, before_writers, before_readers };

/// The access before this one on the same slot, and the task that this one belongs to.
struct access_link {
  int previous = -1;
  int task = -1;
};

/// What the accesses so far say about one slot.
struct slot_history {
  int low = 0, high = 0;  ///< hull of the ranges of the present groups
  int last = -1;          ///< latest access, head of the chain through `link`
  bool covered = false;   ///< some reader follows all writers
  bool pairs = false;
};

}  // namespace detail

template <int Tasks, int Events, int Signals, int Accesses, int Slots, int Groups, int Queues>
struct verify_scratch {
  scratch_array<int, Tasks> position = {};  ///< task -> place in `order`, plus one
  scratch_array<int, Queues> queue_next = {};
  scratch_array<int, Events> count = {};            ///< signals; after the first pass the event's true total
  scratch_array<int, Events> signal_queue = {};     ///< the one queue of all signallers, -1 for several
  scratch_array<int, Events> first_signaller = {};  ///< every satisfied wait follows it
  scratch_array<int, Signals> ordinal = {};  ///< signal -> its rank among the event's signals in `order`, from one
  scratch_array<detail::access_link, Accesses> link = {};
  scratch_array<detail::slot_history, Slots> history = {};
  scratch_array<detail::access_group, Groups> group = {};
};

template <taskflow_size Size, int Queues>
using fixed_verify_scratch =
    verify_scratch<Size.tasks, Size.events, Size.signals, Size.accesses, Size.slots, 4 * Size.slots, Queues>;
using dynamic_verify_scratch = verify_scratch<run_time_count, run_time_count, run_time_count, run_time_count,
                                              run_time_count, run_time_count, run_time_count>;

namespace detail {

/// Pass 1: `order` is a complete run of the frozen queues. Fills position, count, signal_queue, first_signaller,
/// ordinal.
template <class Flow, class Schedule, class Scratch>
constexpr verify_status verify_order(const Flow& f, const Schedule& s, Scratch& x) {
  const int tasks = f.size.tasks, queues = queue_count(s.machine), per_rank = queues_per_rank(s.machine);
  if (s.task_count != tasks) return {verify_code::task_count_differs};
  if (s.queue_begin[0] != 0 || s.queue_begin[queues] != tasks) return {verify_code::queue_bounds_are_wrong};
  for (int q = 0; q < queues; ++q) {
    if (s.queue_begin[q] > s.queue_begin[q + 1]) return {verify_code::queue_bounds_are_wrong};
    x.queue_next[q] = s.queue_begin[q];
  }
  for (int e = 0; e < f.size.events; ++e) x.count[e] = 0;
  for (int t = 0; t < tasks; ++t) x.position[t] = 0;
  int class_begin[resource_count] = {};
  for (int r = 0; r < resource_count; ++r) class_begin[r] = first_queue(s.machine, 0, static_cast<resource>(r));

  for (int p = 0; p < tasks; ++p) {
    const int t = s.order[p];
    if (t < 0 || t >= tasks || x.position[t] != 0)
      return {t < 0 || t >= tasks ? verify_code::task_outside_the_flow : verify_code::task_appears_twice, t};
    x.position[t] = p + 1;
    const int q = s.queue[t], kind = static_cast<int>(f.task[t].kind), rank = f.task[t].rank;
    const int unit = q - rank * per_rank - class_begin[kind];
    if (unit < 0 || unit >= s.machine.queues[kind] || rank < 0 || rank >= s.machine.ranks)
      return {verify_code::queue_of_another_class_or_rank, t};
    if (x.queue_next[q] >= s.queue_begin[q + 1] || s.queue_task[x.queue_next[q]++] != t)
      return {verify_code::queue_disagrees_with_order, t};
    const int wait_end = f.task[t].wait_end;
    for (int w = f.task[t].wait_begin; w < wait_end; ++w) {
      const int e = f.wait[w].event, threshold = f.wait[w].threshold;
      if (threshold < 1 || x.count[e] < threshold)
        return {threshold < 1 ? verify_code::threshold_is_out_of_range : verify_code::wait_is_never_satisfied, t, -1,
                e};
    }
    const int signal_end = f.task[t].signal_end;
    for (int g = f.task[t].signal_begin; g < signal_end; ++g) {
      const int e = f.signal[g];
      x.ordinal[g] = ++x.count[e];
      if (x.ordinal[g] == 1) {
        x.signal_queue[e] = q;
        x.first_signaller[e] = t;
      } else if (x.signal_queue[e] != q) {
        x.signal_queue[e] = -1;
      }
    }
  }
  for (int w = 0; w < f.size.waits; ++w) {
    if (f.wait[w].threshold == x.count[f.wait[w].event] || x.signal_queue[f.wait[w].event] >= 0) continue;
    for (int t = 0; t < tasks; ++t)
      if (f.task[t].wait_begin <= w && w < f.task[t].wait_end)
        return {verify_code::partial_threshold_over_several_queues, t, -1, f.wait[w].event};
  }
  return {};
}

/// How many signals back a witness is looked for: a task also follows what the first signaller of an event it waits for
/// follows.
inline constexpr int witness_depth = 3;

/// Every member of group `i` has ended before `t` begins, or is `t`.
/// A wait of threshold k implies each signal of ordinal <= k: for a total trivially, else because one queue signals in
/// order.
template <class Flow, class Schedule, class Scratch>
constexpr bool follows(const Flow& f, const Schedule& s, const Scratch& x, int t, int i, int depth) {
  if (x.group[i].members == 0 || (x.group[i].queue == s.queue[t] && x.group[i].position <= x.position[t])) return true;
  const int wait_end = f.task[t].wait_end;
  for (int w = f.task[t].wait_begin; w < wait_end; ++w)
    if (f.wait[w].event == x.group[i].event && f.wait[w].threshold >= x.group[i].ordinal) return true;
  if (depth > 0)
    for (int w = f.task[t].wait_begin; w < wait_end; ++w)
      if (follows(f, s, x, x.first_signaller[f.wait[w].event], i, depth - 1)) return true;
  return false;
}

/// Task `a` has ended before `t` begins, or is `t`.
template <class Flow, class Schedule, class Scratch>
constexpr bool follows_task(const Flow& f, const Schedule& s, const Scratch& x, int t, int a, int depth) {
  if (s.queue[a] == s.queue[t] && x.position[a] <= x.position[t]) return true;
  const int wait_end = f.task[t].wait_end, signal_end = f.task[a].signal_end;
  for (int w = f.task[t].wait_begin; w < wait_end; ++w)
    for (int g = f.task[a].signal_begin; g < signal_end; ++g)
      if (f.signal[g] == f.wait[w].event && x.ordinal[g] <= f.wait[w].threshold) return true;
  if (depth > 0)
    for (int w = f.task[t].wait_begin; w < wait_end; ++w)
      if (follows_task(f, s, x, x.first_signaller[f.wait[w].event], a, depth - 1)) return true;
  return false;
}

/// The signal by which task `t` counts into `event`, or -1.
template <class Flow>
constexpr int signal_to(const Flow& f, int t, int event) {
  for (int g = f.task[t].signal_begin; g < f.task[t].signal_end; ++g)
    if (f.signal[g] == event) return g;
  return -1;
}

/// Adds `t` to group `i`, which has members. The common event is the first member's first signal, or the first that it
/// shares with the second member.
template <class Flow, class Schedule, class Scratch>
constexpr void join(const Flow& f, const Schedule& s, Scratch& x, int t, int i) {
  const int position = x.position[t];
  access_group& g = x.group[i];
  ++g.members;
  if (g.queue != s.queue[t]) g.queue = -1;
  if (g.position < position) g.position = position;
  if (g.event < 0) return;
  int mine = signal_to(f, t, g.event);
  if (mine < 0 && g.members == 2) {
    for (int h = f.task[g.first].signal_begin; mine < 0 && h < f.task[g.first].signal_end; ++h) {
      mine = signal_to(f, t, f.signal[h]);
      if (mine >= 0) {
        g.event = f.signal[h];
        g.ordinal = x.ordinal[h];
      }
    }
  }
  if (mine < 0) {
    g.event = -1;
  } else if (g.ordinal < x.ordinal[mine]) {
    g.ordinal = x.ordinal[mine];
  }
}

/// Pairs: back through the slot's history until a writer covers the range, for whatever overlaps the range before it
/// conflicts with that writer and is already known to precede it. Returns a task that `t` is not known to follow, or
/// -1.
template <class Flow, class Schedule, class Scratch>
constexpr int unordered_pair(const Flow& f, const Schedule& s, const Scratch& x, int t, int a) {
  const int begin = f.access[a].begin, end = f.access[a].end;
  const bool writes = f.access[a].mode == access_mode::write;
  for (int b = x.link[a].previous; b >= 0; b = x.link[b].previous) {
    const bool wrote = f.access[b].mode == access_mode::write;
    if (f.access[b].begin >= end || f.access[b].end <= begin || !(writes || wrote)) continue;
    const int other = x.link[b].task;
    if (other != t && !follows_task(f, s, x, t, other, witness_depth)) return other;
    if (wrote && other != t && f.access[b].begin <= begin && f.access[b].end >= end) return -1;
  }
  return -1;
}

/// Pass 2: every conflict has a witness. Tasks in reference order. The common cases are written out in the loop because
/// a constexpr call costs as much as ten statements: an empty group, a wait for the group's event, a member like the
/// ones before.
template <class Flow, class Schedule, class Scratch>
constexpr verify_status verify_conflicts(const Flow& f, const Schedule& s, Scratch& x) {
  for (int i = 0; i < f.size.slots; ++i) x.history[i].last = -1;
  for (int t = 0; t < f.size.tasks; ++t) {
    const int first = f.task[t].access_begin, last = f.task[t].access_end;
    if (first == last) continue;
    const int wait_begin = f.task[t].wait_begin, wait_end = f.task[t].wait_end, queue = s.queue[t];
    const int signal_begin = f.task[t].signal_begin, position = x.position[t];
    const int signal = signal_begin < f.task[t].signal_end ? f.signal[signal_begin] : -1,
              ordinal = signal < 0 ? 0 : x.ordinal[signal_begin];
    for (int a = first; a < last; ++a) {
      const int slot = f.access[a].slot, begin = f.access[a].begin, end = f.access[a].end;
      const bool writes = f.access[a].mode == access_mode::write;
      // A read inside the task's own write next to it conflicts with nothing that the write does not.
      if (begin >= end ||
          (!writes && a + 1 < last && f.access[a + 1].slot == slot && f.access[a + 1].mode == access_mode::write &&
           f.access[a + 1].begin <= begin && f.access[a + 1].end >= end))
        continue;
      const int base = 4 * slot;
      x.link[a] = {x.history[slot].last, t};
      bool empty = x.history[slot].last < 0, grouped = true;
      if (empty) {
        x.history[slot] = {begin, end, a};
        x.group[base + writers].members = x.group[base + readers].members = 0;
        x.group[base + before_writers].members = x.group[base + before_readers].members = 0;
      } else if (x.history[slot].pairs) {
        grouped = false;
      } else {
        // A write that meets the present groups begins new ones after them.
        const bool renews = writes && begin < x.history[slot].high && x.history[slot].low < end;
        const int must = base + (renews ? readers : writes ? before_readers : writers);
        grouped = x.group[must].members == 0;
        for (int w = wait_begin; w < wait_end && !grouped; ++w)
          grouped = f.wait[w].event == x.group[must].event && f.wait[w].threshold >= x.group[must].ordinal;
        if (!grouped) grouped = follows(f, s, x, t, must, witness_depth);
        if (!writes) {
          x.history[slot].covered = x.history[slot].covered || (grouped && x.group[base + writers].members > 0);
        } else if (grouped && !renews) {
          grouped =
              x.group[base + before_writers].members == 0 || follows(f, s, x, t, base + before_writers, witness_depth);
          x.history[slot].covered = false;
        } else if (grouped) {
          grouped = x.history[slot].covered || follows(f, s, x, t, base + writers, witness_depth);
          if (grouped) {
            x.group[base + before_readers] = x.group[base + readers];
            x.group[base + before_writers] = x.group[base + writers];
            if (x.history[slot].covered) x.group[base + before_writers].members = 0;
            x.group[base + readers].members = x.group[base + writers].members = 0;
            x.history[slot].covered = false;
            empty = true;
          }
        }
      }
      x.history[slot].last = a;
      if (empty || x.history[slot].low > begin) x.history[slot].low = begin;
      if (empty || x.history[slot].high < end) x.history[slot].high = end;
      if (grouped) {
        const int g = base + (writes ? writers : readers);
        if (x.group[g].members == 0) {
          x.group[g] = {1, t, signal, ordinal, queue, position};
        } else if (x.group[g].event == signal && signal >= 0) {
          ++x.group[g].members;
          if (x.group[g].ordinal < ordinal) x.group[g].ordinal = ordinal;
          if (x.group[g].queue != queue) x.group[g].queue = -1;
          if (x.group[g].position < position) x.group[g].position = position;
        } else {
          join(f, s, x, t, g);
        }
        continue;
      }
      x.history[slot].pairs = true;
      const int other = unordered_pair(f, s, x, t, a);
      if (other >= 0) return {verify_code::conflict_is_not_ordered, t, other, -1, slot};
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
  const verify_status run = detail::verify_order(f, s, x);
  return run.code != verify_code::ok ? run : detail::verify_conflicts(f, s, x);
}

/// The same with its own working memory, for constant evaluation.
template <taskflow_size Size, int Queues>
constexpr verify_status verify(const fixed_taskflow<Size>& f, const fixed_schedule<Size.tasks, Queues>& s) {
  fixed_verify_scratch<Size, Queues> x;
  return verify(f, s, x);
}

}  // namespace hyperparallel
