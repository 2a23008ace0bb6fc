// SPDX-License-Identifier: Apache-2.0
#pragma once
// First half of the local rule: the plan's order is one complete sequential run of its frozen queues. Counters are
// monotone and waits do not consume, so that one run proves that every interleaving completes.
//
// Laws: each task stands once in the order and once in a queue of its class and rank; each wait is satisfied where it
// stands; a threshold below an event's total has all its signallers in one queue. It trusts no count of the builder:
// totals of signals are derived here.

#include <cstdint>

#include <hyperparallel/support/enum_text.hpp>
#include <hyperparallel/taskflow/scratch.hpp>
#include <hyperparallel/taskflow/storage.hpp>
#include <hyperparallel/taskflow/tile_run.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class verify_code : unsigned char {
  ok,
  task_count_differs,
  queue_bounds_are_wrong,
  runs_are_wrong,
  task_outside_the_flow,
  task_appears_twice,
  queue_of_another_class_or_rank,
  queue_disagrees_with_order,
  wait_is_never_satisfied,
  threshold_is_out_of_range,
  partial_threshold_over_several_queues,
  use_total_differs,
  instance_is_not_together,
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
  constexpr const char* texts[] = {"ok",
                                   "the schedule holds another number of tasks than the flow",
                                   "the queues' bounds do not partition the tasks",
                                   "the flow's runs do not partition its tasks",
                                   "the order names a task that the flow does not have",
                                   "a task appears twice",
                                   "a task sits in a queue of another class or rank",
                                   "a queue's order disagrees with the plan's order",
                                   "a wait needs a signal that comes later in the plan's order",
                                   "a threshold is outside 1 .. total of signals",
                                   "a threshold below the total, while the event's signallers sit in several queues",
                                   "the tasks have more signals or accesses than the flow's size says",
                                   "members of a macro task do not follow each other, or numbers of macro tasks fall",
                                   "two conflicting uses of a slot are not ordered by a witness"};
  return detail::enum_text<verify_code::conflict_is_not_ordered>(texts, c);
}

namespace detail {

/// Working memory of both halves. Slots have four groups of accesses, see verify.hpp.
template <int Tasks, int Events, int SignalUses, int AccessUses, int Slots, int Queues>
struct verify_scratch {
  scratch_array<int, Tasks> run_end = {};     ///< task -> one past the last tile of its run; negative once it is placed
  scratch_array<int, Tasks> position = {};    ///< task -> place in `order`, for pairs
  scratch_array<int, Tasks> signal_use = {};  ///< task -> where its signals stand in `ordinal`
  scratch_array<int, Tasks> access_use = {};  ///< task -> where its accesses stand in `previous` and `owner`
  scratch_array<int, Queues> queue_next = {};
  scratch_array<int, Events> count = {};         ///< signals; after the first half the event's true total
  scratch_array<int, Events> signal_queue = {};  ///< the one queue of all signallers, -1 for several
  scratch_array<int, Events> first_signaller =
      {};                                         ///< every satisfied wait follows it; for other than direct witnesses
  scratch_array<int, SignalUses> ordinal = {};    ///< its rank among the event's signals in `order`, from one
  scratch_array<int, AccessUses> previous = {};   ///< the use before this one of the same slot, -1
  scratch_array<int, AccessUses> owner = {};      ///< use -> task
  scratch_array<int, Slots> last = {};            ///< head of the chain through `previous`
  scratch_array<int, Slots> state = {};           ///< bits of `slot_state`
  scratch_array<int, Slots> high = {};            ///< greatest end of the ranges of the present groups
  scratch_array<int, Slots> writers = {};         ///< event that all writers of the present group signal, -1: none
  scratch_array<int, Slots> readers = {};         ///< and all readers after them
  scratch_array<int, Slots> before_writers = {};  ///< likewise of the groups before
  scratch_array<int, Slots> before_readers = {};
};

template <taskflow_size Size, int Queues>
using fixed_verify_scratch =
    verify_scratch<Size.tasks, Size.events, signal_room(Size), access_room(Size), Size.slots, Queues>;
using dynamic_verify_scratch =
    verify_scratch<run_time_count, run_time_count, run_time_count, run_time_count, run_time_count, run_time_count>;

/// Ordinals of all signals and the queues of the signallers, for flows with a wait below an event's total. Names such a
/// wait if the event's signallers sit in several queues.
template <class Flow, class Schedule, class Scratch, class Counts>
constexpr verify_status verify_partial_waits(const Flow& f, const Schedule& s, Scratch& x, Counts& count) {
  int used = 0;
  for (int e = 0; e < f.size.events; ++e) count[e] = 0;
  for (int p = 0; p < f.size.tasks; ++p) {
    const int t = s.order[p], q = s.queue[t], signal_end = f.task[t].signal_end, first_event = f.task[t].first_event;
    x.signal_use[t] = used;
    for (int g = f.task[t].signal_begin; g < signal_end; ++g) {
      if (used >= f.size.signal_uses) return {verify_code::use_total_differs, t};
      const int e = f.signal[g] + first_event, ordinal = count[e] + 1;
      x.ordinal[used++] = count[e] = ordinal;
      if (ordinal == 1) x.signal_queue[e] = q;
      if (x.signal_queue[e] != q) x.signal_queue[e] = -1;
    }
  }
  for (int t = 0; t < f.size.tasks; ++t)
    for (int w = f.task[t].wait_begin; w < f.task[t].wait_end; ++w) {
      const int e = f.wait[w].event + f.task[t].first_event;
      if (f.wait[w].threshold < count[e] && x.signal_queue[e] < 0)
        return {verify_code::partial_threshold_over_several_queues, t, -1, e};
    }
  return {};
}

/// Fills `run_end`, `queue_next` and `count` of the scratch. What tasks share is judged once for tiles of a run that follow each
/// other in `order`: counters only rise. A task is copied: reading a copy's fields costs a constant evaluation a tenth
/// of reading the flow's.
template <class Flow, class Schedule, class Runs, class Queues, class Counts>
constexpr verify_status verify_order(const Flow& f, const Schedule& s, Runs& run_end, Queues& queue_next,
                                     Counts& count) {
  const int tasks = f.size.tasks, queues = queue_count(s.machine);
  if (s.task_count != tasks) return {verify_code::task_count_differs};
  if (s.queue_begin[0] != 0 || s.queue_begin[queues] != tasks) return {verify_code::queue_bounds_are_wrong};
  int t = 0, q = 0, place = 0, past = 0;
  for (; q < queues; q = q + 1) {
    if (s.queue_begin[q] > s.queue_begin[q + 1]) return {verify_code::queue_bounds_are_wrong};
    queue_next[q] = s.queue_begin[q];
  }
  const int ranks = s.machine.ranks, per_rank = queues_per_rank(s.machine);
  int pool_begin[resource_count + 1] = {};  // of rank 0
  for (int kind = 0; kind < resource_count; ++kind) pool_begin[kind + 1] = pool_begin[kind] + s.machine.queues[kind];
  for (int e = 0, events = f.size.events; e < events; ++e) count[e] = 0;
  for (int r = 0, runs = f.size.runs; r < runs; ++r) {
    past = f.run[r + 1];
    if (past <= t || past > tasks) return {verify_code::runs_are_wrong, t};
    const bool alike = past == t + 1 || end_of_run(f, t, past) == past;  // what is judged once for all has to be so
    for (; t < past; t = t + 1) run_end[t] = alike ? past : t + 1;
  }
  if (t != tasks) return {verify_code::runs_are_wrong, t};

  auto& order = s.order;
  auto& queue = s.queue;
  auto& queue_task = s.queue_task;
  for (int p = 0; p < tasks;) {
    t = order[p];
    if (t < 0 || t >= tasks) return {verify_code::task_outside_the_flow, t};
    const task k = f.task[t];
    const int first = t, end = run_end[t], kind = static_cast<int>(k.kind);
    if (k.rank < 0 || k.rank >= ranks || kind >= resource_count)
      return {verify_code::queue_of_another_class_or_rank, t};
    const int pool = k.rank * per_rank + pool_begin[kind], pool_end = k.rank * per_rank + pool_begin[kind + 1];
    do {
      if (run_end[t] < 0) return {verify_code::task_appears_twice, t};
      run_end[t] = -end;
      p = p + 1;
      q = queue[t];
      if (q < pool || q >= pool_end) return {verify_code::queue_of_another_class_or_rank, t};
      place = queue_next[q];
      if (place >= tasks || queue_task[place] != t) return {verify_code::queue_disagrees_with_order, t};
      queue_next[q] = place + 1;
      t = t + 1;
    } while (t < end && p < tasks && order[p] == t);
    for (int w = k.wait_begin; w < k.wait_end; ++w) {
      const wait u = f.wait[w];
      if (u.threshold < 1) return {verify_code::threshold_is_out_of_range, first, -1, u.event + k.first_event};
      if (count[u.event + k.first_event] < u.threshold)
        return {verify_code::wait_is_never_satisfied, first, -1, u.event + k.first_event};
    }
    for (int g = k.signal_begin; g < k.signal_end; ++g) count[f.signal[g] + k.first_event] += t - first;
  }
  // A queue that took a task of the next one has gone past its end; as all tasks are placed, no other has stopped
  // short.
  for (q = 0; q < queues; ++q)
    if (queue_next[q] > s.queue_begin[q + 1])
      return {verify_code::queue_disagrees_with_order, s.queue_task[s.queue_begin[q + 1]]};
  return {};
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
