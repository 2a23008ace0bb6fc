// SPDX-License-Identifier: Apache-2.0
#pragma once
// A taskflow and its schedule, flattened for execution: per queue a run of records, per record only the waits and
// signals that can matter.
//
// Two laws allow to leave synchronisation out, and both only use queue order. A wait is dropped when signals of earlier
// tasks of its own queue already reach its threshold, or when an earlier task of its queue waited for as much. A signal
// is dropped when its event has no wait left. So what remains still implies every wait of the taskflow, and a chain
// inside one queue costs no atomic operation. Queues go to workers in contiguous runs (ranks stay together) so that the
// largest planned load of a worker is least.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/runtime/failure.hpp>
#include <hyperparallel/runtime/kernel.hpp>
#include <hyperparallel/taskflow/storage.hpp>

namespace hyperparallel {

inline constexpr int max_workers = 64;

struct bound_wait {
  int event;
  std::uint32_t threshold;
};

/// `listeners` has bit w set when worker w, other than the signaller's, waits for the event.
struct bound_signal {
  std::uint64_t listeners;
  int event;
  bool is_private;  ///< one worker alone signals and waits for this event
};

struct bound_task {
  kernel run;
  kernel_call call;
  int wait_begin, wait_end;
  int signal_begin, signal_end;
};

struct bound_queue {
  int begin, end;  ///< records of this queue
  int worker;
};

struct bound_plan {
  int workers = 1;
  std::vector<bound_queue> queue;  ///< by queue number; empty queues included
  std::vector<bound_task> record;  ///< queue by queue, in queue order
  std::vector<bound_wait> wait;
  std::vector<bound_signal> signal;
  std::vector<std::uint32_t> event_total;  ///< signals a run that were kept, by event
  std::vector<int> written_slot;           ///< first slot that a task writes, or -1; by task number
};

namespace detail {

inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Cuts `load` into at most `parts` contiguous runs with the least possible largest sum. O(n log sum).
inline std::vector<int> balanced_runs(const std::vector<std::int64_t>& load, int parts) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (const std::int64_t l : load) {
    low = l > low ? l : low;
    high += l;
  }
  const int n = static_cast<int>(load.size());
  std::vector<int> part(load.size(), 0);
  const auto fits = [&](std::int64_t limit) {
    int p = 0;
    std::int64_t sum = 0;
    for (int i = 0; i < n; ++i) {
      const bool one_each = n - i <= parts - 1 - p;  // enough parts left for every remaining item to have its own
      if (i > 0 && (sum + load[at(i)] > limit || one_each)) {
        sum = 0;
        if (++p == parts) return false;
      }
      sum += load[at(i)];
      part[at(i)] = p;
    }
    return true;
  };
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (fits(middle))
      high = middle;
    else
      low = middle + 1;
  }
  fits(low);
  return part;
}

template <class Flow, class Schedule>
void check_plan(const Flow& f, const Schedule& s) {
  const int queues = queue_count(s.machine);
  std::vector<char> seen(at(f.size.tasks), 0);
  if (s.task_count != f.size.tasks)
    throw bind_error("the schedule holds " + std::to_string(s.task_count) + " tasks, the taskflow " +
                     std::to_string(f.size.tasks));
  if (queues == 0 && f.size.tasks > 0) throw bind_error("the schedule's machine has no queue");
  for (int q = 0; q < queues; ++q) {
    const int begin = s.queue_begin[q];
    const int end = s.queue_begin[q + 1];
    if (begin < 0 || begin > end || end > s.task_count)
      throw bind_error("queue " + std::to_string(q) + " has a broken range of tasks");
    for (int i = begin; i < end; ++i) {
      const int t = s.queue_task[i];
      if (t < 0 || t >= f.size.tasks || seen[at(t)] != 0)
        throw bind_error("queue " + std::to_string(q) + " names task " + std::to_string(t) + ", which " +
                         (t < 0 || t >= f.size.tasks ? "does not exist" : "is queued twice"));
      seen[at(t)] = 1;
    }
  }
  for (int t = 0; t < f.size.tasks; ++t)
    if (seen[at(t)] == 0) throw bind_error("task " + std::to_string(t) + " is in no queue");
  for (int t = 0; t < f.size.tasks; ++t) {
    const auto& k = f.task[t];
    for (int w = k.wait_begin; w < k.wait_end; ++w) {
      const std::int64_t e = std::int64_t{f.wait[w].event} + k.first_event;
      if (e < 0 || e >= f.size.events)
        throw bind_error("wait " + std::to_string(w) + " names event " + std::to_string(e));
    }
    for (int i = k.signal_begin; i < k.signal_end; ++i) {
      const std::int64_t e = std::int64_t{f.signal[i]} + k.first_event;
      if (e < 0 || e >= f.size.events)
        throw bind_error("signal " + std::to_string(i) + " names event " + std::to_string(e));
    }
  }
}

/// Fills queues, records and the waits that queue order does not imply.
template <class Flow, class Schedule>
void bind_waits(const Flow& f, const Schedule& s, bound_plan& p) {
  const int queues = queue_count(s.machine);
  std::vector<int> own(at(f.size.events));           // signals by earlier tasks of this queue
  std::vector<int> waited(at(f.size.events));        // largest threshold an earlier task of this queue waited for
  std::vector<int> queue_of(at(f.size.events), -1);  // the queue that the two entries speak of
  const auto touch = [&](int event, int q) {
    if (queue_of[at(event)] == q) return;
    queue_of[at(event)] = q;
    own[at(event)] = 0;
    waited[at(event)] = 0;
  };
  for (int q = 0; q < queues; ++q) {
    p.queue[at(q)].begin = static_cast<int>(p.record.size());
    for (int i = s.queue_begin[q]; i < s.queue_begin[q + 1]; ++i) {
      const int t = s.queue_task[i];
      const auto& from = f.task[t];
      bound_task to{nullptr, {from.rank, t, from.operation, from.item, nullptr}, static_cast<int>(p.wait.size()), 0, 0,
                    0};
      for (int w = from.wait_begin; w < from.wait_end; ++w) {
        const int e = f.wait[w].event + from.first_event;
        const int n = f.wait[w].threshold;
        touch(e, q);
        if (n <= own[at(e)] || n <= waited[at(e)]) continue;
        waited[at(e)] = n;
        p.wait.push_back({e, static_cast<std::uint32_t>(n)});
      }
      to.wait_end = static_cast<int>(p.wait.size());
      for (int k = from.signal_begin; k < from.signal_end; ++k) {
        const int e = f.signal[k] + from.first_event;
        touch(e, q);
        own[at(e)]++;
      }
      p.record.push_back(to);
    }
    p.queue[at(q)].end = static_cast<int>(p.record.size());
  }
}

/// Keeps the signals of events that somebody waits for, with the workers to wake.
template <class Flow>
void bind_signals(const Flow& f, bound_plan& p) {
  std::vector<std::uint64_t> waiters(at(f.size.events), 0);
  std::vector<std::uint64_t> writers(at(f.size.events), 0);
  for (const bound_queue& q : p.queue)
    for (int r = q.begin; r < q.end; ++r) {
      const bound_task& record = p.record[at(r)];
      const auto& from = f.task[record.call.task];
      for (int w = record.wait_begin; w < record.wait_end; ++w) waiters[at(p.wait[at(w)].event)] |= 1ULL << q.worker;
      for (int k = from.signal_begin; k < from.signal_end; ++k)
        writers[at(f.signal[k] + from.first_event)] |= 1ULL << q.worker;
    }
  for (const bound_queue& q : p.queue)
    for (int r = q.begin; r < q.end; ++r) {
      bound_task& record = p.record[at(r)];
      const auto& from = f.task[record.call.task];
      record.signal_begin = static_cast<int>(p.signal.size());
      for (int k = from.signal_begin; k < from.signal_end; ++k) {
        const int e = f.signal[k] + from.first_event;
        if (waiters[at(e)] == 0) continue;
        const std::uint64_t self = 1ULL << q.worker;
        p.signal.push_back({waiters[at(e)] & ~self, e, waiters[at(e)] == self && writers[at(e)] == self});
        p.event_total[at(e)]++;
      }
      record.signal_end = static_cast<int>(p.signal.size());
    }
}

}  // namespace detail

/// Flattens a plan for at most `workers` workers (1 … max_workers). The arguments need not outlive the call.
/// Throws bind_error when the schedule does not hold every task exactly once. O(tasks + waits + signals + accesses).
template <class Flow, class Schedule>
bound_plan bind_plan(const Flow& f, const Schedule& s, int workers) {
  detail::check_plan(f, s);
  bound_plan p;
  p.queue.resize(detail::at(queue_count(s.machine)));
  p.record.reserve(detail::at(f.size.tasks));
  p.event_total.resize(detail::at(f.size.events));
  detail::bind_waits(f, s, p);

  std::vector<std::int64_t> load;
  std::vector<int> used;
  for (int q = 0; q < static_cast<int>(p.queue.size()); ++q) {
    const bound_queue& b = p.queue[detail::at(q)];
    if (b.begin == b.end) continue;
    std::int64_t sum = 0;
    for (int r = b.begin; r < b.end; ++r) sum += 1 + f.task[p.record[detail::at(r)].call.task].duration;
    load.push_back(sum);
    used.push_back(q);
  }
  const std::vector<int> part = detail::balanced_runs(load, workers);
  for (std::size_t i = 0; i < used.size(); ++i) {
    p.queue[detail::at(used[i])].worker = part[i];
    if (part[i] >= p.workers) p.workers = part[i] + 1;
  }
  detail::bind_signals(f, p);

  p.written_slot.assign(detail::at(f.size.tasks), -1);
  for (int t = 0; t < f.size.tasks; ++t)
    for (int a = f.task[t].access_end - 1; a >= f.task[t].access_begin; --a)
      if (f.access[a].mode == access_mode::write)
        p.written_slot[detail::at(t)] = f.access[a].slot + f.task[t].first_slot;
  return p;
}

}  // namespace hyperparallel
