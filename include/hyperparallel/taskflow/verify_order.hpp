// SPDX-License-Identifier: Apache-2.0
#pragma once
// First half of the local rule: the plan's order is one complete sequential run of its frozen queues. Counters are
// monotone and waits do not consume, so that one run proves that every interleaving completes.
//
// Laws: each task stands once in the order and once in a queue of its class and rank; each wait is satisfied where it
// stands; a threshold below an event's total has all its signallers in one queue. It trusts no count of the builder:
// totals of signals are derived here.

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

/// Working memory of both halves. Slots have four groups of accesses, at `4 * slot + which`, see verify.hpp.
template <int Tasks, int Events, int Signals, int Accesses, int Slots, int Groups, int Queues>
struct verify_scratch {
  scratch_array<int, Tasks> position = {};  ///< task -> place in `order`, plus one
  scratch_array<int, Queues> queue_next = {};
  scratch_array<int, Queues> queue_pool = {};       ///< rank * resource_count + class
  scratch_array<int, Events> count = {};            ///< signals; after the first half the event's true total
  scratch_array<int, Events> least = {};            ///< lowest threshold of its waits
  scratch_array<int, Events> signal_queue = {};     ///< the one queue of all signallers, -1 for several
  scratch_array<int, Events> first_signaller = {};  ///< every satisfied wait follows it
  scratch_array<int, Signals> ordinal = {};     ///< signal -> its rank among the event's signals in `order`, from one
  scratch_array<int, Accesses> previous = {};   ///< the access before this one on the same slot, -1
  scratch_array<int, Accesses> owner = {};      ///< access -> task
  scratch_array<int, Slots> last = {};          ///< head of the chain through `previous`
  scratch_array<int, Slots> state = {};         ///< bits of `slot_state`
  scratch_array<int, Slots> high = {};          ///< greatest end of the ranges of the present groups
  scratch_array<int, Groups> group_event = {};  ///< one that all members signal, -1: none
};

template <taskflow_size Size, int Queues>
using fixed_verify_scratch =
    verify_scratch<Size.tasks, Size.events, Size.signals, Size.accesses, Size.slots, 4 * Size.slots, Queues>;
using dynamic_verify_scratch = verify_scratch<run_time_count, run_time_count, run_time_count, run_time_count,
                                              run_time_count, run_time_count, run_time_count>;

namespace detail {

/// Names a wait below the total of an event whose signallers sit in several queues.
template <class Flow, class Scratch>
constexpr verify_status partial_wait(const Flow& f, const Scratch& x) {
  for (int t = 0; t < f.size.tasks; ++t)
    for (int w = f.task[t].wait_begin; w < f.task[t].wait_end; ++w)
      if (f.wait[w].threshold < x.count[f.wait[w].event] && x.signal_queue[f.wait[w].event] < 0)
        return {verify_code::partial_threshold_over_several_queues, t, -1, f.wait[w].event};
  return {};
}

/// Fills everything of the scratch up to `ordinal`. A task is copied once: reading a copy's fields costs a constant
/// evaluation a tenth of reading the flow's.
template <class Flow, class Schedule, class Scratch>
constexpr verify_status verify_order(const Flow& f, const Schedule& s, Scratch& x) {
  const int tasks = f.size.tasks, events = f.size.events, queues = queue_count(s.machine);
  if (s.task_count != tasks) return {verify_code::task_count_differs};
  if (s.queue_begin[0] != 0 || s.queue_begin[queues] != tasks) return {verify_code::queue_bounds_are_wrong};
  for (int rank = 0, q = 0; rank < s.machine.ranks; ++rank)
    for (int kind = 0; kind < resource_count; ++kind)
      for (int unit = 0; unit < s.machine.queues[kind]; ++unit, ++q) {
        if (s.queue_begin[q] > s.queue_begin[q + 1]) return {verify_code::queue_bounds_are_wrong};
        x.queue_next[q] = s.queue_begin[q];
        x.queue_pool[q] = rank * resource_count + kind;
      }
  for (int e = 0; e < events; ++e) {
    x.count[e] = 0;
    x.least[e] = 1 << 30;
  }
  for (int t = 0; t < tasks; ++t) x.position[t] = 0;

  for (int p = 0; p < tasks; ++p) {
    const int t = s.order[p];
    if (t < 0 || t >= tasks || x.position[t] != 0)
      return {t < 0 || t >= tasks ? verify_code::task_outside_the_flow : verify_code::task_appears_twice, t};
    x.position[t] = p + 1;
    const task k = f.task[t];
    const int q = s.queue[t];
    if (q < 0 || q >= queues || x.queue_pool[q] != k.rank * resource_count + static_cast<int>(k.kind))
      return {verify_code::queue_of_another_class_or_rank, t};
    const int place = x.queue_next[q];
    if (place >= s.queue_begin[q + 1] || s.queue_task[place] != t) return {verify_code::queue_disagrees_with_order, t};
    x.queue_next[q] = place + 1;
    for (int w = k.wait_begin; w < k.wait_end; ++w) {
      const int e = f.wait[w].event, threshold = f.wait[w].threshold;
      if (threshold < 1 || x.count[e] < threshold)
        return {threshold < 1 ? verify_code::threshold_is_out_of_range : verify_code::wait_is_never_satisfied, t, -1,
                e};
      if (threshold < x.least[e]) x.least[e] = threshold;
    }
    for (int g = k.signal_begin; g < k.signal_end; ++g) {
      const int e = f.signal[g], ordinal = x.count[e] + 1;
      x.ordinal[g] = x.count[e] = ordinal;
      if (ordinal == 1) {
        x.signal_queue[e] = q;
        x.first_signaller[e] = t;
      } else if (x.signal_queue[e] != q) {
        x.signal_queue[e] = -1;
      }
    }
  }
  for (int e = 0; e < events; ++e)
    if (x.least[e] < x.count[e] && x.signal_queue[e] < 0) return partial_wait(f, x);
  return {};
}

}  // namespace detail

}  // namespace hyperparallel
