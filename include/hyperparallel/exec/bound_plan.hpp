// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plan ready to run: its execution table, and what errors tell of its tasks, seen through pointers.
//
// The table is either a constant (`constant_plan`, which stays where the compiler put it, in read-only data) or lowered
// at run time into memory that the `bound_plan` owns, with copies of what messages need; flow and schedule may then go.
// A `grown_execution_table` has no flow: messages tell what its records and waits say.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/exec/failure.hpp>
#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/support/owned.hpp>
#include <hyperparallel/taskflow/grown_execution_table.hpp>
#include <hyperparallel/taskflow/lower_execution.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A flow and its schedule as constants of the compiler: constexpr variables of static storage.
template <const auto& Flow, const auto& Schedule, execution_options Options = execution_options{}>
struct constant_plan {
  static constexpr const auto& flow = Flow;
  static constexpr const auto& schedule = Schedule;
  static constexpr const auto& table = execution_table_of<Flow, Schedule, Options>;
};

/// What the executor reads. Arrays as in `fixed_execution_table` and `fixed_taskflow`.
struct plan_view {
  execution_size size{};
  int first_operation = 0, operations = 0, time_shift = 0;
  const execution_record* record = nullptr;
  const int* queue_begin = nullptr;
  const word_wait* wait = nullptr;
  const int* reader = nullptr;
  const int* signal = nullptr;
  const int* counter_total = nullptr;
  const int* listener_begin = nullptr;
  const int* listener = nullptr;
  const queue_use* use = nullptr;

  const hyperparallel::task* task = nullptr;  ///< null where there is no flow, as are the following
  const hyperparallel::wait* planned_wait = nullptr;
  const int* planned_signal = nullptr;
  const hyperparallel::access* access = nullptr;

  template <class Flow, class Table>
  static plan_view of(const Flow& f, const Table& t, const queue_use* use) {
    return {t.size,   t.first_operation, t.operations,    t.time_shift,     t.record,   t.queue_begin, t.wait,
            t.reader, t.signal,          t.counter_total, t.listener_begin, t.listener, use,           f.task,
            f.wait,   f.signal,          f.access};
  }
  static plan_view of(const grown_execution_table& t);

  int operation(const execution_record& r) const { return r.kernel + first_operation; }

  /// The first slot that `number` writes, or -1. Domain: there is a flow.
  int written_slot(int number) const;
};

namespace detail {

inline constexpr int most_bound_operations = 1 << 20;

inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

template <class Flow, class Schedule>
void check_queues(const Flow& f, const Schedule& s) {
  const int queues = queue_count(s.machine);
  detail::light_vector<char> seen(at(f.size.tasks), 0);
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
}

template <class Flow>
void check_events(const Flow& f) {
  std::int64_t lowest = 0, highest = 0;
  for (int t = 0; t < f.size.tasks; ++t) {
    const hyperparallel::task& k = f.task[t];
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
    lowest = t == 0 || k.operation < lowest ? k.operation : lowest;
    highest = t == 0 || k.operation > highest ? k.operation : highest;
  }
  if (highest - lowest >= most_bound_operations)
    throw bind_error("operations " + std::to_string(lowest) + " and " + std::to_string(highest) +
                     " are too far apart for one table of kernels");
}

}  // namespace detail

class bound_plan {
 public:
  bound_plan() = default;

  /// Lowers a plan. Throws bind_error when the schedule does not hold every task exactly once, or a number is outside
  /// its array. Complexity: see `prune_plan`.
  template <class Flow, class Schedule>
  bound_plan(const Flow& f, const Schedule& s, const execution_options& options = {}) {
    detail::check_queues(f, s);
    detail::check_events(f);
    taskflow_size n = f.size;
    n.signal_uses = 0;  // counted here: builders of other kinds need not
    for (int t = 0; t < n.tasks; ++t) n.signal_uses += f.task[t].signal_end - f.task[t].signal_begin;
    detail::owned_execution_scratch x(n, queue_count(s.machine));
    x.take_waits(join_events(f, s, options, x.join));
    prune_plan(f, s, x);
    const execution_size size = measure_table(f, s, x);
    table_ = detail::make_owned<owned_execution_table>(size);
    fill_table(f, s, size, x, *table_);
    task_.assign(f.task, f.task + n.tasks);
    wait_.assign(f.wait, f.wait + n.waits);
    signal_.assign(f.signal, f.signal + n.signals);
    access_.assign(f.access, f.access + n.accesses);
    add_up(f, *table_);
    view_ = plan_view::of(owned_flow{task_.data(), wait_.data(), signal_.data(), access_.data()}, *table_, use_.data());
  }

  /// Takes no copy of flow, schedule and table.
  template <const auto& Flow, const auto& Schedule, execution_options Options>
  explicit bound_plan(constant_plan<Flow, Schedule, Options> p) {
    add_up(p.flow, p.table);
    view_ = plan_view::of(p.flow, p.table, use_.data());
  }

  explicit bound_plan(grown_execution_table&& table);

  const plan_view& view() const { return view_; }

 private:
  struct owned_flow {
    const hyperparallel::task* task;
    const hyperparallel::wait* wait;
    const int* signal;
    const hyperparallel::access* access;
  };

  /// What each queue holds.
  template <class Flow, class Table>
  void add_up(const Flow& f, const Table& t) {
    use_.resize(detail::at(t.size.queues));
    for (int q = 0; q < t.size.queues; ++q)
      for (int r = t.queue_begin[q]; r < t.queue_begin[q + 1]; ++r) {
        const hyperparallel::task& one = f.task[t.record[r].task];
        use_[detail::at(q)] = {one.kind, use_[detail::at(q)].load + 1 + one.duration};
      }
  }

  detail::owned<owned_execution_table> table_;
  detail::owned<grown_execution_table> grown_;
  detail::light_vector<queue_use> use_;
  detail::light_vector<task> task_;
  detail::light_vector<wait> wait_;
  std::vector<int> signal_;
  detail::light_vector<access> access_;
  plan_view view_;
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/exec/bound_plan.ipp>
#endif
