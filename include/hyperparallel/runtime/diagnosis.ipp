// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of diagnosis.hpp; see support/compiled.hpp.

#include <cstdint>
#include <utility>
#include <vector>

#include <hyperparallel/runtime/diagnosis.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

HYPERPARALLEL_BODY named_task name_task(const plan_view& p, const program_names& names, int number) {
  const task& t = p.task[number];
  return {number, t.rank, operation_name(names, t.operation)};
}

HYPERPARALLEL_BODY waiting_task find_waiting(const plan_view& p, const program_names& names,
                                             const std::vector<int>& head, const std::vector<bool>& busy) {
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

}}}  // namespace hyperparallel::v0_2::detail
