// SPDX-License-Identifier: Apache-2.0
#pragma once
// Profiling as a policy of the executor: nothing at all, or the wait, run and signals of every task.
//
// Law: `no_profile` leaves no instruction in the executor. `record_profile` allocates when the plan is bound, writes
// each record by the one worker that runs the task, and is read after the run; times are nanoseconds since the run
// began, and wait <= start <= end <= signalled where the task was waited for.

#include <cstdint>
#include <vector>

#include <hyperparallel/kernels/steady_time.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct no_profile {
  static constexpr bool enabled = false;
};

/// A task that the run never reached has worker -1.
struct task_record {
  std::int64_t start = 0;  ///< its kernel began
  std::int64_t end = 0;    ///< its kernel returned
  int worker = -1;
  std::int64_t wait = -1;      ///< its worker first found it blocked; -1: it never was
  std::int64_t signalled = 0;  ///< whoever waits for it could go on
};

struct record_profile {
  static constexpr bool enabled = true;
  std::vector<task_record> task;  ///< by task number
  std::int64_t origin = 0;        ///< when the run began

  void size_for(int tasks) { task.resize(static_cast<std::size_t>(tasks)); }

  void restart() {
    for (task_record& r : task) r = {};
    origin = detail::steady_nanoseconds();
  }

  std::int64_t now() const { return detail::steady_nanoseconds() - origin; }

  void blocked(int number) {
    task_record& r = task[static_cast<std::size_t>(number)];
    if (r.wait < 0) r.wait = now();
  }

  void began(int number, int worker) {
    task_record& r = task[static_cast<std::size_t>(number)];
    r.worker = worker;
    r.start = now();
  }

  void ended(int number) { task[static_cast<std::size_t>(number)].end = now(); }
  void signalled(int number) { task[static_cast<std::size_t>(number)].signalled = now(); }
};

}}  // namespace hyperparallel::v0_2
