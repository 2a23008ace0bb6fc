// SPDX-License-Identifier: Apache-2.0
#pragma once
// The proof of a periodic plan for every number of copies, from a bounded unrolling.
//
// The window is copies 0 .. w - 1, w - 1 being the most banks of a slot, those of the events or the greatest carried
// distance, whichever is most; each copy has events of its own there. The local rule on the window and the wrap law
// prove all n copies safe:
//
// (1) Order. That a signal stands before its wait in the plan depends on stages, places and their copies' distance
//     alone, which is at most w - 1. So what holds in the window holds in all copies; absent waits need nothing. That
//     queues follow the plan's order is checked for one iteration, in which any stages may meet.
// (2) Conflicts. An access comes back to its bank after b <= w - 1 copies with the same range, and one of a conflicting
//     pair writes, so it conflicts with its own like b copies on. Let the pair be k copies apart, k > b: following the
//     writer from like to like brings the two within b copies, and all links of that chain are pairs at most b apart.
//     Both name the same banks, as `check_period` demands, so they meet again wherever both are moved by as many
//     copies. Such a pair is, moved down, one of the window. Its witness there, waits back in time and places in one
//     queue, uses no copy after the pair's later one, so it exists in each plan that has both, and moves up with them.
// (3) Counters. Event e of copies c and c + b share a counter, b its banks, which is never reset. Then a wait that
//     counts on earlier generations must not be released by a later one. Wrap law: every wait of a generation has begun
//     before a signal of the next one happens; or one queue signals all, in order of copies, for then the counter is
//     its progress word. Suppose a wait were the first to be released early, by signals of generation g + 1 or later:
//     until then the run is one of the plan with own events, where no such signal comes before the wait. Every signal
//     of a generation also stands before those of the next in the plan's order, so the plan's order is a complete run
//     of the counters, and one complete run proves that all complete.
//
// The rule may refuse a safe plan, never accept an unsafe one. Of a rule that asks a little more, of fewer copies than
// the window's and of the wrap wherever the window has room for it, this is proved in proofs/periodic.v. There a signal of
// the generation after the next is led back to one of the next, as a wait for the next generation has seen one of its
// signals: this is where a wait must not go back further than its event has banks.

#include <hyperparallel/taskflow/periodic_expand.hpp>
#include <hyperparallel/taskflow/verify.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class periodic_code : unsigned char {
  ok,
  period_is_refused,
  window_is_too_small,
  copies_are_unsafe,
  queue_disagrees_with_order,
  carried_further_than_banked,
  generations_out_of_order,
  wait_meets_the_next_generation,
};

/// period_is_refused: by `check_period`, which says why. `task`, `other`, `event` and `slot` are the period's;
/// `distance` copies lie between `other` and `task`. `found` is the local rule's own word for copies_are_unsafe.
/// wait_meets_the_next_generation: `task` may signal the counter of `event` before `other`, which waits for an earlier
/// generation, has begun.
struct periodic_status {
  periodic_code code = periodic_code::ok;
  int task = -1, other = -1, event = -1, slot = -1, distance = 0;
  verify_code found = verify_code::ok;
  friend constexpr bool operator==(const periodic_status&, const periodic_status&) = default;
};

constexpr const char* to_text(periodic_code c) {
  switch (c) {
    case periodic_code::ok:
      return "ok";
    case periodic_code::period_is_refused:
      return "the period is none: `check_period` says why";
    case periodic_code::window_is_too_small:
      return "the proof was given fewer copies than `proof_copies`";
    case periodic_code::copies_are_unsafe:
      return "copies next to each other are unsafe";
    case periodic_code::queue_disagrees_with_order:
      return "a queue's order disagrees with the plan's order";
    case periodic_code::carried_further_than_banked:
      return "a wait goes back further than its event has banks, and several queues signal it";
    case periodic_code::generations_out_of_order:
      return "a counter is signalled for a copy before an earlier copy is done with signalling it";
    case periodic_code::wait_meets_the_next_generation:
      return "a counter may be signalled again before a wait for it has begun";
  }
  return "unknown";
}

/// Copies that prove all.
template <class Period>
constexpr int proof_copies(const Period& p) {
  int most = most_banks(p);
  if (most < p.event_banks) most = p.event_banks;
  if (most < greatest_distance(p)) most = greatest_distance(p);
  return most + 1;
}

/// Working memory of the wrap law, for the events and signals of one copy.
template <int Events, int Signals>
struct wrap_scratch {
  scratch_array<int, Events> last = {};  ///< of copy 0's signallers the last in the plan's order, -1: nobody signals
  scratch_array<int, Events> next = {};  ///< of the signallers that use the counter next, the first
  scratch_array<int, Events> signaller = {};  ///< event -> its first link, -1
  scratch_array<int, Signals> run = {};       ///< link -> a run that signals the event
  scratch_array<int, Signals> link = {};      ///< chains of one event
};
using dynamic_wrap_scratch = wrap_scratch<run_time_count, run_time_count>;

struct owned_wrap_scratch : dynamic_wrap_scratch {
  owned_wrap_scratch(int events, int signals) {
    last = memory.take<int>(events);
    next = memory.take<int>(events);
    signaller = memory.take<int>(events);
    run = memory.take<int>(signals);
    link = memory.take<int>(signals);
  }
  scratch_memory memory;
};

namespace detail {

/// All tiles of the run of `other` have ended before any of the run of `t` begins, by waits that all its tiles share.
template <class Flow, class Scratch>
constexpr bool follows_run(const Flow& f, const Scratch& x, int t, int other, int depth) {
  const task k = f.task[t], from = f.task[other];
  for (int w = k.wait_begin; w < k.wait_end; ++w)
    for (int g = from.signal_begin; g < from.signal_end; ++g)
      if (f.signal[g] == f.wait[w].event && f.wait[w].threshold == x.count[f.signal[g]]) return true;
  if (depth > 0)
    for (int w = k.wait_begin; w < k.wait_end; ++w)
      if (follows_run(f, x, x.first_signaller[f.wait[w].event], other, depth - 1)) return true;
  return false;
}

/// A task that its queue does not list in the plan's order, or -1. Tasks of one iteration whose stages are further apart than
/// the window has copies never stand in it together.
template <class Schedule, class Scratch>
constexpr int task_out_of_order(const Schedule& s, Scratch& x) {
  for (int q = 0, queues = queue_count(s.machine); q < queues; ++q) x.queue_next[q] = s.queue_begin[q];
  for (int place = 0; place < s.task_count; ++place) {
    const int t = s.order[place], next = x.queue_next[s.queue[t]]++;
    if (next >= s.queue_begin[s.queue[t] + 1] || s.queue_task[next] != t) return t;
  }
  return -1;
}

/// Who signals each event, and between which places of the plan's order its counter changes over to copy `banks`.
template <class Period, class Scratch, class Wrap>
constexpr void link_signallers(const Period& p, const Scratch& x, Wrap& z) {
  const int later = p.event_banks * p.size.tasks;
  for (int e = 0; e < p.size.events; ++e) z.last[e] = z.signaller[e] = -1;
  for (int r = 0, links = 0; r < p.size.runs; ++r) {
    const int first = p.run[r], past = p.run[r + 1];
    const task k = p.task[first];
    if (k.signal_begin == k.signal_end) continue;
    int last = first, next = first;
    for (int t = first + 1; t < past; ++t) {
      if (x.position[last] < x.position[t]) last = t;
      if (x.position[later + t] < x.position[later + next]) next = t;
    }
    for (int g = k.signal_begin; g < k.signal_end; ++g) {
      const int e = p.signal[g] + k.first_event;
      if (z.last[e] < 0 || x.position[z.last[e]] < x.position[last]) z.last[e] = last;
      if (z.signaller[e] < 0 || x.position[later + next] < x.position[later + z.next[e]]) z.next[e] = next;
      z.run[links] = r;
      z.link[links] = z.signaller[e];
      z.signaller[e] = links;
      links += 1;
    }
  }
}

/// The wrap law, on a window that the local rule has accepted.
template <class Period, class Flow, class Explicit, class Scratch, class Wrap>
constexpr periodic_status verify_wrap(const Period& p, const Flow& f, const Explicit& s, Scratch& x, Wrap& z) {
  const int banks = p.event_banks, later = banks * p.size.tasks;
  // The second half of the local rule fills these only where it needs them.
  link_accesses(f, s, x);
  find_first_signallers(f, s, x, x.run_end);
  verify_partial_waits(f, s, x, x.count);
  link_signallers(p, x, z);
  for (int r = 0; r < p.size.runs; ++r) {
    const int first = p.run[r], past = p.run[r + 1];
    const task waiter = p.task[first];
    for (int w = waiter.wait_begin; w < waiter.wait_end; ++w) {
      const int number = p.wait[w].event + waiter.first_event, e = own_number(number), distance = distance_of(number);
      if (z.last[e] < 0) continue;
      if (x.position[z.last[e]] >= x.position[later + z.next[e]])
        return {periodic_code::generations_out_of_order, z.next[e], z.last[e], e, -1, banks};
      if (x.signal_queue[e] >= 0) continue;  // all in one queue
      if (distance > banks) return {periodic_code::carried_further_than_banked, first, -1, e, -1, distance};
      const int before = distance * p.size.tasks;
      for (int link = z.signaller[e]; link >= 0; link = z.link[link]) {
        const int o = z.run[link];
        if (follows_run(f, x, later + p.run[o], before + first, witness_depth)) continue;
        for (int u = p.run[o]; u < p.run[o + 1]; ++u)
          for (int t = first; t < past; ++t)
            if (later + u != before + t && !follows_task(f, s, x, x.count, later + u, before + t, witness_depth))
              return {periodic_code::wait_meets_the_next_generation, u, t, e, -1, banks - distance};
      }
    }
  }
  return {};
}

}  // namespace detail

/// Proves every number of copies safe, or names what it cannot prove. Domain: `window` has room for `copies` >=
/// proof_copies(p) of them, explicit schedule and scratch likewise. Complexity: that of `verify` on the window, and for
/// the wrap O(waits * runs that signal the event), where waits alone keep it.
template <class Period, class Schedule, class Flow, class Explicit, class Scratch, class Wrap>
constexpr periodic_status verify_period(const Period& p, const Schedule& s, int copies, Flow& window, Explicit& e,
                                        Scratch& x, Wrap& z) {
  if (const period_status own = check_period(p); own.code != period_code::ok)
    return {periodic_code::period_is_refused, own.task};
  if (copies < proof_copies(p)) return {periodic_code::window_is_too_small};
  unroll(window, p, copies);
  expand_schedule(s, copies, e);
  const verify_status local = verify(window, e, x);
  if (local.code != verify_code::ok) {
    const int tasks = p.size.tasks;
    periodic_status refused{periodic_code::copies_are_unsafe, -1, -1, -1, local.slot, 0, local.code};
    if (local.task >= 0) refused.task = local.task % tasks;
    if (local.other >= 0) refused.other = local.other % tasks;
    if (local.event >= 0) refused.event = local.event % p.size.events;
    if (local.task >= 0 && local.other >= 0) refused.distance = local.task / tasks - local.other / tasks;
    return refused;
  }
  if (const int t = detail::task_out_of_order(s, x); t >= 0) return {periodic_code::queue_disagrees_with_order, t};
  return detail::verify_wrap(p, window, e, x, z);
}

/// At run time, with memory of its own.
template <class Schedule>
periodic_status verify_period(const dynamic_period& p, const Schedule& s) {
  if (const period_status own = check_period(p); own.code != period_code::ok)
    return {periodic_code::period_is_refused, own.task};
  const int copies = proof_copies(p), queues = queue_count(s.machine);
  const taskflow_size size = unrolled_room(p, copies);
  owned_taskflow window(size);
  owned_schedule e(size.tasks, queues);
  owned_verify_scratch x(size, queues);
  owned_wrap_scratch z(p.size.events, size.signals);
  return verify_period(p, s, copies, window, e, x, z);
}

/// For constant evaluation; `Period` is a variable with static storage.
template <const auto& Period, int Queues, int Tasks>
constexpr periodic_status verify_period(const fixed_periodic_schedule<Tasks, Queues>& s) {
  constexpr int copies = proof_copies(Period);
  constexpr taskflow_size size = unrolled_room(Period, copies);
  fixed_taskflow<size> window;
  fixed_schedule<size.tasks, Queues> e;
  fixed_verify_scratch<size, Queues> x;
  wrap_scratch<Period.size.events, size.signals> z;
  return verify_period(Period, s, copies, window, e, x, z);
}

}}  // namespace hyperparallel::v0_2
