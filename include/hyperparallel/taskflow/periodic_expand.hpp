// SPDX-License-Identifier: Apache-2.0
#pragma once
// A periodic schedule written out: the explicit schedule that belongs to the flow of `unroll`, and both together in
// memory of their own, for what runs or draws explicit plans.
//
// Law: position i of queue q of the explicit schedule holds task copy * tasks + task of `task_at(s, copies, q, i)`.

#include <hyperparallel/taskflow/owned.hpp>
#include <hyperparallel/taskflow/periodic_schedule.hpp>
#include <hyperparallel/taskflow/periodic_unroll.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Fills `e`, which has room for all tasks. Its makespan is left alone. O(tasks of all copies + queues).
template <class Schedule, class Explicit>
constexpr void expand_schedule(const Schedule& s, int copies, Explicit& e) {
  const int queues = queue_count(s.machine), tasks = s.task_count;
  e.machine = s.machine;
  e.task_count = copies * tasks;
  int position = 0, place = 0, task = 0, copy = 0;
  for (int i = 0; i < copies + s.stages - 1; ++i)
    for (place = 0; place < tasks; place = place + 1) {
      task = s.order[place];
      copy = i - s.stage[task];
      if (copy < 0 || copy >= copies) continue;
      e.order[position] = copy * tasks + task;
      position = position + 1;
    }
  for (task = position = 0; position < e.task_count; position = position + 1) {
    e.queue[position] = s.queue[task];
    task = task + 1 < tasks ? task + 1 : 0;
  }
  e.queue_begin[0] = 0;
  for (int q = 0; q < queues; ++q) {
    const int begin = s.queue_begin[q], past = s.queue_begin[q + 1];
    int next = e.queue_begin[q];
    for (int i = 0; i < copies + s.stages - 1; ++i)
      for (place = begin; place < past; place = place + 1) {
        task = s.queue_task[place];
        copy = i - s.stage[task];
        if (copy < 0 || copy >= copies) continue;
        e.queue_task[next] = copy * tasks + task;
        next = next + 1;
      }
    e.queue_begin[q + 1] = next;
  }
}

/// Flow and schedule of `copies` copies. As in copies of a pattern, `item` is counted on from copy to copy: by the
/// number of tasks that the operation has in one copy.
struct periodic_expansion {
  template <class Period, class Schedule>
  periodic_expansion(const Period& p, const Schedule& s, int copies, event_form form = event_form::own)
      : flow(unrolled_room(p, copies)), schedule(p.size.tasks * copies, queue_count(s.machine)) {
    unroll(flow, p, copies, form);
    expand_schedule(s, copies, schedule);
    for (int r = 0; r < p.size.runs; ++r) {
      int items = 0;
      for (int o = 0; o < p.size.runs; ++o)
        if (p.task[p.run[o]].operation == p.task[p.run[r]].operation) items += p.run[o + 1] - p.run[o];
      for (int t = p.run[r]; t < p.run[r + 1]; ++t)
        for (int c = 0; c < copies; ++c) flow.task[c * p.size.tasks + t].item += c * items;
    }
  }
  owned_taskflow flow;
  owned_schedule schedule;
};

}}  // namespace hyperparallel::v0_2
