// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of diagnosis.hpp; see support/compiled.hpp.

#include <cstdint>
#include <utility>
#include <vector>

#include <hyperparallel/exec/diagnosis.hpp>
#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

HYPERPARALLEL_BODY named_task name_task(const plan_view& p, const program_names& names, int record) {
  const execution_record& r = p.record[record];
  return {r.task, r.rank, operation_name(names, p.operation(r))};
}

HYPERPARALLEL_BODY waiting_task find_waiting(const plan_view& p, const program_names& names,
                                             const std::vector<int>& head, const std::vector<bool>& busy) {
  // Without a flow each queue is the event of its own tasks.
  const auto signals = [&](int record, int queue, int event) {
    if (p.task == nullptr) return queue == event ? 1 : 0;
    const task& t = p.task[p.record[record].task];
    int count = 0;
    for (int s = t.signal_begin; s < t.signal_end; ++s) count += p.planned_signal[s] + t.first_event == event ? 1 : 0;
    return count;
  };
  const auto look = [&](int record, int event, int needed) {
    waiting_task w;
    static_cast<named_task&>(w) = name_task(p, names, record);
    w.event = event;
    w.signals_needed = needed;
    for (int q = 0; q < p.size.queues; ++q)
      for (int r = p.queue_begin[q]; r < p.queue_begin[q + 1]; ++r) {
        const int given = signals(r, q, event);
        if (r < head[at(q)])
          w.signals_seen += given;
        else if (given > 0)
          w.producers.push_back(name_task(p, names, r));
      }
    return w;
  };
  const auto waits_of = [&](int record) {
    detail::light_vector<word_wait> waits;
    if (p.task == nullptr) {
      waits.assign(p.wait + wait_begin(p, record), p.wait + p.record[record].wait_end);
    } else {
      const task& t = p.task[p.record[record].task];
      for (int w = t.wait_begin; w < t.wait_end; ++w)
        waits.push_back({p.planned_wait[w].event + t.first_event, p.planned_wait[w].threshold});
    }
    return waits;
  };
  waiting_task first;
  for (int q = 0; q < p.size.queues; ++q) {
    const int record = head[at(q)];
    if (busy[at(q)] || record == p.queue_begin[q + 1]) continue;
    for (const word_wait& w : waits_of(record)) {
      waiting_task found = look(record, w.word, w.threshold);
      if (found.signals_seen >= found.signals_needed) continue;
      if (found.producers.empty()) return found;
      if (first.task < 0) first = std::move(found);
    }
  }
  return first;
}

}}}  // namespace hyperparallel::v0_2::detail
