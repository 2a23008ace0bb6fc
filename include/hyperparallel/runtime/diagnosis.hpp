// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a run stands still: from the heads of the queues, the task that waits, its event and who has yet to signal it.
//
// Nothing is counted while tasks run; the signals that an event has are those of the tasks before the heads.

#include <cstdint>
#include <utility>
#include <vector>

#include <hyperparallel/runtime/bound_plan.hpp>
#include <hyperparallel/runtime/failure.hpp>

namespace hyperparallel::detail {

inline named_task name_task(const plan_view& p, const program_names& names, int number) {
  const task& t = p.task[number];
  return {number, t.rank, operation_name(names, t.operation)};
}

/// Of the queues that `busy` does not hold, one whose head waits for signals that have not come: the first that waits
/// for an event nobody is left to signal, for that is a cause and not a consequence, else the first; task -1 if there
/// is none. `head[q]` is a record of queue q, or one past its last. O(waits of the heads · (tasks + signals)).
inline waiting_task find_waiting(const plan_view& p, const program_names& names, const std::vector<int>& head,
                                 const std::vector<bool>& busy) {
  const auto look = [&](int number, int event, int needed) {
    waiting_task w;
    static_cast<named_task&>(w) = name_task(p, names, number);
    w.event = event;
    w.signals_needed = needed;
    for (int q = 0; q < p.size.queues; ++q)
      for (int r = p.queue_begin[q]; r < p.queue_begin[q + 1]; ++r) {
        const task& t = p.task[p.record[r].task];
        int signals = 0;
        for (int s = t.signal_begin; s < t.signal_end; ++s) signals += p.planned_signal[s] + t.first_event == event;
        if (r < head[at(q)])
          w.signals_seen += signals;
        else if (signals > 0)
          w.producers.push_back(name_task(p, names, p.record[r].task));
      }
    return w;
  };
  waiting_task first;
  for (int q = 0; q < p.size.queues; ++q) {
    if (busy[at(q)] || head[at(q)] == p.queue_begin[q + 1]) continue;
    const int number = p.record[head[at(q)]].task;
    const task& t = p.task[number];
    for (int w = t.wait_begin; w < t.wait_end; ++w) {
      waiting_task found = look(number, p.planned_wait[w].event + t.first_event, p.planned_wait[w].threshold);
      if (found.signals_seen >= found.signals_needed) continue;
      if (found.producers.empty()) return found;
      if (first.task < 0) first = std::move(found);
    }
  }
  return first;
}

}  // namespace hyperparallel::detail
