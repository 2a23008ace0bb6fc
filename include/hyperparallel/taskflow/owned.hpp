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

/// The filling pass for run time: `owned_taskflow f(measure(build)); build(f); seal(f);`
struct owned_taskflow : dynamic_taskflow {
  explicit owned_taskflow(const taskflow_size& n) {
    memory.take_each(n.tasks, task);
    memory.take_each(detail::run_room(n), run);
    memory.take_each(n.waits, wait);
    memory.take_each(n.signals, signal);
    memory.take_each(n.accesses, access);
    memory.take_each(n.events, event);
    memory.take_each(n.slots, slot);
  }
  scratch_memory memory;
};

struct owned_schedule : dynamic_schedule {
  owned_schedule(int tasks, int queues) {
    memory.take_each(tasks, order, queue, queue_task);
    memory.take_each(queues, queue_begin);
  }
  scratch_memory memory;
};

struct owned_schedule_scratch : dynamic_schedule_scratch {
  owned_schedule_scratch(const taskflow_size& n, int queues) {
    memory.take_each(n.tasks, rank, run_rank, next, sorted);
    memory.take_each(n.events, event_time, prefix_begin, prefix_count);
    memory.take_each(n.signal_uses, history);
    memory.take_each(queues, queue_free, ring, ring_front, queue_last, pool_head, pool_tail);
  }
  scratch_memory memory;
};

namespace detail {

struct owned_verify_scratch : dynamic_verify_scratch {
  owned_verify_scratch(const taskflow_size& n, int queues) {
    memory.take_each(n.tasks, position, run_end, signal_use, access_use);
    memory.take_each(queues, queue_next);
    memory.take_each(n.events, count, signal_queue, first_signaller);
    memory.take_each(n.signal_uses, ordinal);
    memory.take_each(n.access_uses, previous, owner);
    memory.take_each(n.slots, last, state, high, writers, readers, before_writers, before_readers);
  }
  scratch_memory memory;
};

inline void own(scratch_memory& m, dynamic_exact_scratch& x, const taskflow_size& n, int queues) {
  m.take_each(queues, x.next, x.blocked_after, x.ready);
  m.take_each(n.events, x.count, x.blocked);
  m.take_each(n.tasks, x.begun);
  m.take_each(n.slots, x.slot_begin, x.slot_end);
  m.take_each(n.access_uses, x.user, x.access);
}

struct owned_exact_scratch : dynamic_exact_scratch {
  owned_exact_scratch(const taskflow_size& n, int queues) { detail::own(memory, *this, n, queues); }
  scratch_memory memory;
};

struct owned_clock_scratch : dynamic_clock_scratch {
  owned_clock_scratch(const taskflow_size& n, int queues) {
    detail::own(memory, run, n, queues);
    memory.take_each(n.tasks, queue, place);
    memory.take_each(n.events, total, signal_queue, signal_begin);
    memory.take_each(n.signal_uses, signaller);
    memory.take_each(n.tasks * queues, clock);
    memory.take_each(n.events * queues, event_clock);
  }
  scratch_memory memory;
};

}  // namespace detail

struct owned_timeline : dynamic_timeline {
  explicit owned_timeline(int tasks) { memory.take_each(tasks, start, end); }
  scratch_memory memory;
};

struct owned_simulation_scratch : dynamic_simulation_scratch {
  owned_simulation_scratch(const taskflow_size& n, int queues) {
    memory.take_each(queues, queue_free, queue_next, heap, heap_start);
    memory.take_each(n.tasks, run_end);
    memory.take_each(n.events, event_time, count, prefix_begin, prefix_count);
    memory.take_each(n.signal_uses, history);
    for (int side = 0; side < 2; ++side) memory.take_each(n.tasks, from[side], to[side]);
  }
  scratch_memory memory;
};

namespace detail {

struct owned_flow_scratch : dynamic_flow_scratch {
  explicit owned_flow_scratch(const taskflow_size& n) {
    memory.take_each(n.events, count);
    memory.take_each(n.slots, sorted, merged);
  }
  scratch_memory memory;
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
