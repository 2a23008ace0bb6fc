// SPDX-License-Identifier: Apache-2.0
#pragma once
// The frozen schedule of any number of copies of a period: prologue, period, epilogue.
//
// It is a software pipeline. A task has a *stage*: task t of copy c runs in *iteration* c + stage(t), and within an
// iteration every queue runs its tasks in one frozen order. The first stages - 1 iterations lack the stages whose
// copies would come before the first (prologue), the last stages - 1 lack those past the last (epilogue), all between
// are alike. Prologue and epilogue together hold stages - 1 copies, so storage does not depend on the copies, and what
// stands at a position of a queue follows by arithmetic.
//
// Laws: `task_at` over all positions of all queues is every task of every copy once; the schedule of n copies
// restricted to any n' copies in a row is the schedule of n' copies. The latter is what the proof for all n rests on.

#include <hyperparallel/support/array_bound.hpp>
#include <hyperparallel/taskflow/list_schedule.hpp>
#include <hyperparallel/taskflow/periodic_flow.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr int most_stages = 4;

/// Task `task` of the period, in copy `copy`.
struct placed_task {
  std::int64_t copy;
  int task;
  friend constexpr bool operator==(const placed_task&, const placed_task&) = default;
};

/// One iteration in the form of a schedule, each task's stage, and the ramps. `ramp` holds for each queue, from
/// (stages - 1) * queue_begin[q] on, its prologue and then its epilogue, whose copies count from the number of copies.
template <int Tasks, int Queues>
struct fixed_periodic_schedule {
  machine_shape machine{};
  int task_count = 0;  ///< of one copy
  int stages = 1;
  int order[array_bound(Tasks + 1)] = {};  ///< place in an iteration -> task
  int queue[array_bound(Tasks + 1)] = {};
  int stage[array_bound(Tasks + 1)] = {};
  int queue_begin[array_bound(Queues + 1)] = {};
  int queue_task[array_bound(Tasks + 1)] = {};
  int prologue[array_bound(Queues + 1)] = {};  ///< queue -> tasks of its prologue
  placed_task ramp[array_bound((most_stages - 1) * Tasks + 1)] = {};
};

struct dynamic_periodic_schedule {
  machine_shape machine{};
  int task_count = 0;
  int stages = 1;
  int* order = nullptr;
  int* queue = nullptr;
  int* stage = nullptr;
  int* queue_begin = nullptr;
  int* queue_task = nullptr;
  int* prologue = nullptr;
  placed_task* ramp = nullptr;
};

struct owned_periodic_schedule : dynamic_periodic_schedule {
  owned_periodic_schedule(int tasks, int queues) {
    order = memory.take<int>(tasks);
    queue = memory.take<int>(tasks);
    stage = memory.take<int>(tasks);
    queue_begin = memory.take<int>(queues);
    queue_task = memory.take<int>(tasks);
    prologue = memory.take<int>(queues);
    ramp = memory.take<placed_task>((most_stages - 1) * tasks);
  }
  scratch_memory memory;
};

/// Tasks that queue `q` runs in `copies` copies.
template <class Schedule>
constexpr std::int64_t tasks_of_queue(const Schedule& s, std::int64_t copies, int q) {
  return copies * (s.queue_begin[q + 1] - s.queue_begin[q]);
}

/// What stands at `position` of queue `q` in the plan of `copies` copies. Domain: 0 <= position < tasks_of_queue.
/// O(1); with fewer copies than stages - 1, O(stages * tasks of the queue).
template <class Schedule>
constexpr placed_task task_at(const Schedule& s, std::int64_t copies, int q, std::int64_t position) {
  const int begin = s.queue_begin[q], length = s.queue_begin[q + 1] - begin, ramps = s.stages - 1;
  if (copies < ramps) {
    for (std::int64_t i = 0;; ++i)
      for (int place = begin; place < begin + length; ++place) {
        const std::int64_t copy = i - s.stage[s.queue_task[place]];
        if (copy >= 0 && copy < copies && position-- == 0) return {copy, s.queue_task[place]};
      }
  }
  const int rising = s.prologue[q];
  if (position < rising) return s.ramp[ramps * begin + position];
  const std::int64_t steady = (copies - ramps) * length, place = position - rising;
  if (place >= steady) {
    placed_task t = s.ramp[ramps * begin + position - steady];
    t.copy += copies;
    return t;
  }
  const int t = s.queue_task[begin + place % length];
  return {ramps + place / length - s.stage[t], t};
}

/// Calls `run(copy, task)` for all of `copies` copies in the plan's order, which every queue follows and every wait
/// respects. O(stages * tasks + tasks of all copies).
template <class Schedule, class Run>
constexpr void for_each_in_order(const Schedule& s, std::int64_t copies, const Run& run) {
  for (std::int64_t i = 0; i < copies + s.stages - 1; ++i)
    for (int place = 0; place < s.task_count; ++place) {
      const int t = s.order[place];
      const std::int64_t copy = i - s.stage[t];
      if (copy >= 0 && copy < copies) run(copy, t);
    }
}

namespace detail {

/// queue_begin, queue_task, prologue and ramp from order, queue and stage.
template <class Schedule, class Counts>
constexpr void fill_periodic_queues(Schedule& s, Counts& next) {
  const int queues = queue_count(s.machine), tasks = s.task_count, ramps = s.stages - 1;
  for (int q = 0; q <= queues; ++q) s.queue_begin[q] = 0;
  for (int t = 0; t < tasks; ++t) s.queue_begin[s.queue[t] + 1] += 1;
  for (int q = 0; q < queues; ++q) {
    s.queue_begin[q + 1] += s.queue_begin[q];
    next[q] = s.queue_begin[q];
    s.prologue[q] = 0;
  }
  for (int i = 0; i < tasks; ++i) {
    const int t = s.order[i], q = s.queue[t];
    s.queue_task[next[q]] = t;
    next[q] += 1;
    s.prologue[q] += ramps - s.stage[t];
  }
  for (int q = 0; q < queues && ramps > 0; ++q) {
    const int begin = s.queue_begin[q], past = s.queue_begin[q + 1];
    int rising = ramps * begin, falling = rising + s.prologue[q];
    for (int i = 0; i < ramps; ++i)
      for (int place = begin; place < past; ++place) {
        const int t = s.queue_task[place], stage = s.stage[t];
        if (stage <= i) {
          s.ramp[rising++] = {i - stage, t};
        } else {
          s.ramp[falling++] = {i - stage, t};
        }
      }
  }
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
