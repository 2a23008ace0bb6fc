// SPDX-License-Identifier: Apache-2.0
#pragma once
// Run-time forms that own their memory: construct with the sizes, pass where a dynamic form is asked for. Not copyable.
// Law: zeroed at construction, so a freshly made one equals its fixed form field by field.

#include <hyperparallel/taskflow/exact_check.hpp>
#include <hyperparallel/taskflow/flow_check.hpp>
#include <hyperparallel/taskflow/simulate.hpp>
#include <hyperparallel/taskflow/upward_rank.hpp>
#include <hyperparallel/taskflow/vector_clocks.hpp>
#include <hyperparallel/taskflow/verify.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

template <class T>
void own(scratch_memory& m, T*& array, int count) {
  array = m.take<T>(count);
}

}  // namespace detail

/// The filling pass for run time: `owned_taskflow f(measure(build)); build(f); seal(f);`
struct owned_taskflow : dynamic_taskflow {
  explicit owned_taskflow(const taskflow_size& n) {
    detail::own(memory, task, n.tasks);
    detail::own(memory, run, run_room(n));
    detail::own(memory, wait, n.waits);
    detail::own(memory, signal, n.signals);
    detail::own(memory, access, n.accesses);
    detail::own(memory, event, n.events);
    detail::own(memory, slot, n.slots);
  }
  scratch_memory memory;
};

struct owned_schedule : dynamic_schedule {
  owned_schedule(int tasks, int queues) {
    detail::own(memory, order, tasks);
    detail::own(memory, queue, tasks);
    detail::own(memory, queue_begin, queues);
    detail::own(memory, queue_task, tasks);
  }
  scratch_memory memory;
};

struct owned_schedule_scratch : dynamic_schedule_scratch {
  owned_schedule_scratch(const taskflow_size& n, int queues) {
    detail::own(memory, rank, n.tasks);
    detail::own(memory, run_rank, n.tasks);
    detail::own(memory, next, n.tasks);
    detail::own(memory, sorted, n.tasks);
    detail::own(memory, event_time, n.events);
    detail::own(memory, prefix_begin, n.events);
    detail::own(memory, prefix_count, n.events);
    detail::own(memory, history, n.signal_uses);
    detail::own(memory, queue_free, queues);
    detail::own(memory, ring, queues);
    detail::own(memory, ring_front, queues);
    detail::own(memory, queue_last, queues);
    detail::own(memory, pool_head, queues);
    detail::own(memory, pool_tail, queues);
  }
  scratch_memory memory;
};

struct owned_verify_scratch : dynamic_verify_scratch {
  owned_verify_scratch(const taskflow_size& n, int queues) {
    detail::own(memory, position, n.tasks);
    detail::own(memory, run_end, n.tasks);
    detail::own(memory, signal_use, n.tasks);
    detail::own(memory, access_use, n.tasks);
    detail::own(memory, queue_next, queues);
    detail::own(memory, count, n.events);
    detail::own(memory, signal_queue, n.events);
    detail::own(memory, first_signaller, n.events);
    detail::own(memory, ordinal, n.signal_uses);
    detail::own(memory, previous, n.access_uses);
    detail::own(memory, owner, n.access_uses);
    detail::own(memory, last, n.slots);
    detail::own(memory, state, n.slots);
    detail::own(memory, high, n.slots);
    detail::own(memory, writers, n.slots);
    detail::own(memory, readers, n.slots);
    detail::own(memory, before_writers, n.slots);
    detail::own(memory, before_readers, n.slots);
  }
  scratch_memory memory;
};

namespace detail {

inline void own(scratch_memory& m, dynamic_exact_scratch& x, const taskflow_size& n, int queues) {
  own(m, x.next, queues);
  own(m, x.blocked_after, queues);
  own(m, x.ready, queues);
  own(m, x.count, n.events);
  own(m, x.blocked, n.events);
  own(m, x.begun, n.tasks);
  own(m, x.slot_begin, n.slots);
  own(m, x.slot_end, n.slots);
  own(m, x.user, n.access_uses);
  own(m, x.access, n.access_uses);
}

}  // namespace detail

struct owned_exact_scratch : dynamic_exact_scratch {
  owned_exact_scratch(const taskflow_size& n, int queues) { detail::own(memory, *this, n, queues); }
  scratch_memory memory;
};

struct owned_clock_scratch : dynamic_clock_scratch {
  owned_clock_scratch(const taskflow_size& n, int queues) {
    detail::own(memory, run, n, queues);
    detail::own(memory, queue, n.tasks);
    detail::own(memory, place, n.tasks);
    detail::own(memory, total, n.events);
    detail::own(memory, signal_queue, n.events);
    detail::own(memory, signal_begin, n.events);
    detail::own(memory, signaller, n.signal_uses);
    detail::own(memory, clock, n.tasks * queues);
    detail::own(memory, event_clock, n.events * queues);
  }
  scratch_memory memory;
};

struct owned_timeline : dynamic_timeline {
  explicit owned_timeline(int tasks) {
    detail::own(memory, start, tasks);
    detail::own(memory, end, tasks);
  }
  scratch_memory memory;
};

struct owned_simulation_scratch : dynamic_simulation_scratch {
  owned_simulation_scratch(const taskflow_size& n, int queues) {
    detail::own(memory, queue_free, queues);
    detail::own(memory, queue_next, queues);
    detail::own(memory, run_end, n.tasks);
    detail::own(memory, event_time, n.events);
    detail::own(memory, count, n.events);
    detail::own(memory, prefix_begin, n.events);
    detail::own(memory, prefix_count, n.events);
    detail::own(memory, history, n.signal_uses);
    detail::own(memory, heap, queues);
    detail::own(memory, heap_start, queues);
    for (int side = 0; side < 2; ++side) {
      detail::own(memory, from[side], n.tasks);
      detail::own(memory, to[side], n.tasks);
    }
  }
  scratch_memory memory;
};

struct owned_flow_scratch : dynamic_flow_scratch {
  explicit owned_flow_scratch(const taskflow_size& n) {
    detail::own(memory, count, n.events);
    detail::own(memory, sorted, n.slots);
    detail::own(memory, merged, n.slots);
  }
  scratch_memory memory;
};

}}  // namespace hyperparallel::v0_2
