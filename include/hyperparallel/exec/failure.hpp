// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `run` throws, each on one line that names the task, its rank and what it was doing.
//
//   task_error       a kernel threw; the original is nested in it (std::rethrow_if_nested)
//   deadlock_error   every worker is blocked and no task is running
//   stall_error      the watchdog saw no task end for the time it was given
//   bind_error       the schedule and the taskflow do not fit each other, or a kernel is missing
//
// Law: after any of them all workers have left the run, and the executor can run again.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/exec/kernel.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct bind_error : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

struct task_error : std::runtime_error {
  int task;
  int rank;
  std::string operation;  ///< the operation's name
  std::string slot;       ///< the name of the first slot that the task writes; empty when it writes none

  task_error(int task_, int rank_, std::string operation_, std::string slot_, const std::string& cause);
};

struct named_task {
  int task = -1;
  int rank = 0;
  std::string operation;  ///< the operation's name
};

/// A task at the head of its queue whose wait does not hold, and who has yet to signal its event.
struct waiting_task : named_task {
  int event = -1;
  std::int64_t signals_seen = 0;
  std::int64_t signals_needed = 0;
  std::vector<named_task> producers;
};

/// "task 7 on rank 3 (gmm1)".
inline std::string to_text(const named_task& t) {
  return "task " + std::to_string(t.task) + " on rank " + std::to_string(t.rank) + " (" + t.operation + ")";
}

/// At most three of them by name.
std::string to_text(const std::vector<named_task>& tasks);

std::string to_text(const waiting_task& t);

struct deadlock_error : std::runtime_error, waiting_task {
  explicit deadlock_error(waiting_task t);
};

struct stall_error : std::runtime_error {
  std::vector<named_task> running;
  waiting_task waiting;  ///< task -1: nobody waits

  stall_error(std::int64_t milliseconds, std::vector<named_task> running_, waiting_task waiting_);
};

std::string operation_name(const program_names& names, int operation);

namespace detail {

/// Empty for a negative slot.
std::string slot_name(const program_names& names, int slot);

/// What the operation writes; empty where it is not known.
std::string written_name(const program_names& names, int operation);

/// The first line of what `error` says; empty when it is no std::exception.
std::string first_line(const std::exception_ptr& error);

/// Carries `action` out; the first line of what it throws, empty for nothing.
template <class Action>
std::string complaint_of(const Action& action) {
  try {
    action();
  } catch (...) {
    const std::string text = first_line(std::current_exception());
    return text.empty() ? "unknown exception" : text;
  }
  return {};
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/exec/failure.ipp>
#endif
