// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a scheduler is asked for and what it answers, and the schedule that leaves nothing to choose: queues as listed.

#include <cstdint>

#include <hyperparallel/support/enum_text.hpp>
#include <hyperparallel/support/integer.hpp>
#include <hyperparallel/taskflow/scratch.hpp>
#include <hyperparallel/taskflow/task.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// upward_rank: longest remaining chain first. reference_order: as the flow lists its tasks, where the lowering
/// interleaves by itself. listed_queues: the same for pools of one queue, where nothing is left to choose: nothing is
/// timed, the makespan is `not_counted`; of a larger pool the first queue takes all.
enum class priority : unsigned char { upward_rank, reference_order, listed_queues };

struct schedule_options {
  priority policy = priority::upward_rank;
  std::int64_t synchronisation = 0;  ///< picoseconds between a signal and the wait that it releases
};

enum class schedule_code : unsigned char { ok, rank_outside_the_machine, no_queue_of_the_class };

struct schedule_status {
  schedule_code code = schedule_code::ok;
  int task = -1;
  friend constexpr bool operator==(const schedule_status&, const schedule_status&) = default;
};

constexpr const char* to_text(schedule_code c) {
  constexpr const char* texts[] = {"ok", "the task's rank is outside the machine",
                                   "the machine has no queue of the task's resource class"};
  return detail::enum_text<schedule_code::no_queue_of_the_class>(texts, c);
}

namespace detail {

/// Each queue as the flow lists its tasks: O(tasks + queues).
template <class Flow, class Schedule, class Next>
constexpr schedule_status list_queues(const Flow& f, const machine_shape& machine, Schedule& s, Next& queue_next) {
  const int tasks = f.size.tasks, ranks = machine.ranks, per_rank = queues_per_rank(machine);
  const int queues = queue_count(machine);
  int queue_of[resource_count] = {};
  for (int r = 0; r < resource_count; ++r)
    queue_of[r] = machine.queues[r] > 0 ? first_queue(machine, 0, static_cast<resource>(r)) : -1;
  auto& task = f.task;
  auto& order = s.order;
  auto& queue = s.queue;
  auto& queue_task = s.queue_task;
  for (int q = 0; q < queues; ++q) queue_next[q] = 0;
  int q = 0, place = 0;
  for (int t = 0; t < tasks; t = t + 1) {
    const int rank = task[t].rank;
    q = queue_of[static_cast<int>(task[t].kind)];
    if (rank < 0 || rank >= ranks) return {schedule_code::rank_outside_the_machine, t};
    if (q < 0) return {schedule_code::no_queue_of_the_class, t};
    q = q + rank * per_rank;
    order[t] = t;
    queue[t] = q;
    if constexpr (fills_before_scattering) queue_task[t] = 0;
    queue_next[q] += 1;
  }
  for (q = 0; q < queues; q = q + 1) {
    s.queue_begin[q] = place;
    place += queue_next[q];
    queue_next[q] = s.queue_begin[q];
  }
  s.queue_begin[queues] = place;
  for (int t = 0; t < tasks; t = t + 1) {
    q = queue[t];
    place = queue_next[q];
    queue_task[place] = t;
    queue_next[q] = place + 1;
  }
  s.makespan = not_counted;
  return {};
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
