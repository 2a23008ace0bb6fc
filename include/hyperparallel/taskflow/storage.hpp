// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a taskflow's arrays live. Algorithms are templates over the storage and write `f.task[i]`:
//
//   fixed_taskflow<size>   inline arrays: a constant expression's result, in read-only data
//   dynamic_taskflow       pointers to arrays that the caller owns: run time
//   counting_taskflow      no arrays, only the counts: the sizing pass of the builder
//
// Raw public arrays and integer indices are on purpose: under g++ 12 one constexpr `std::array::operator[]`
// costs as much as eleven raw accesses.

#include <hyperparallel/support/array_bound.hpp>
#include <hyperparallel/taskflow/task.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Element counts of every array of a taskflow. Tiles of a run and copies of a pattern share their signals and
/// accesses: `signal_uses` and `access_uses` count them once for each task.
struct taskflow_size {
  int tasks = 0, waits = 0, signals = 0, accesses = 0, events = 0, slots = 0;
  int signal_uses = 0, access_uses = 0;
  int runs = 0;
  friend constexpr bool operator==(const taskflow_size&, const taskflow_size&) = default;
};

namespace detail {

/// Room for uses. A size written by hand for a flow that shares nothing need not count them: each is stored once.
constexpr int signal_room(const taskflow_size& n) { return n.signals < n.signal_uses ? n.signal_uses : n.signals; }
constexpr int access_room(const taskflow_size& n) { return n.accesses < n.access_uses ? n.access_uses : n.accesses; }

/// Room for runs of tiles, likewise: each task is one.
constexpr int run_room(const taskflow_size& n) { return n.runs == 0 ? n.tasks : n.runs; }

}  // namespace detail

/// Inline storage. `Size` is usually the result of `measure(builder)`.
template <taskflow_size Size>
struct fixed_taskflow {
  static constexpr bool stores = true;
  static constexpr taskflow_size capacity = Size;
  taskflow_size size{};
  hyperparallel::task task[detail::array_bound(Size.tasks + 1)] = {};
  hyperparallel::wait wait[detail::array_bound(Size.waits + 1)] = {};
  int signal[detail::array_bound(Size.signals + 1)] = {};
  hyperparallel::access access[detail::array_bound(Size.accesses + 1)] = {};
  hyperparallel::event event[detail::array_bound(Size.events + 1)] = {};
  hyperparallel::slot slot[detail::array_bound(Size.slots + 1)] = {};
  int run[detail::array_bound(detail::run_room(Size) + 1)] =
      {};              ///< run of tiles -> its first task; past the last run: the number of tasks
  int thresholds = 0;  ///< waits that the builder gave a threshold of their own, in place of `all_signals`
};

/// Views of arrays that somebody else owns and sized; `size` counts what the builder has filled.
struct dynamic_taskflow {
  static constexpr bool stores = true;
  taskflow_size size{};
  hyperparallel::task* task = nullptr;
  hyperparallel::wait* wait = nullptr;
  int* signal = nullptr;
  hyperparallel::access* access = nullptr;
  hyperparallel::event* event = nullptr;
  hyperparallel::slot* slot = nullptr;
  int* run = nullptr;
  int thresholds = 0;
};

struct counting_taskflow {
  static constexpr bool stores = false;
  taskflow_size size{};
};

/// One queue's tasks are `queue_task[queue_begin[q] .. queue_begin[q + 1])`, in frozen order.
/// `order` lists all tasks in an order that every queue and every event respects: the witness of acyclicity.
template <int Tasks, int Queues>
struct fixed_schedule {
  machine_shape machine{};
  int task_count = 0;
  std::int64_t makespan = 0;  ///< picoseconds, as the scheduler estimated it; `not_counted` where it times nothing
  int order[detail::array_bound(Tasks + 1)] = {};  ///< position -> task
  int queue[detail::array_bound(Tasks + 1)] = {};  ///< task -> queue
  int queue_begin[detail::array_bound(Queues + 1)] = {};
  int queue_task[detail::array_bound(Tasks + 1)] = {};
};

struct dynamic_schedule {
  machine_shape machine{};
  int task_count = 0;
  std::int64_t makespan = 0;
  int* order = nullptr;
  int* queue = nullptr;
  int* queue_begin = nullptr;
  int* queue_task = nullptr;
};

}}  // namespace hyperparallel::v0_2
