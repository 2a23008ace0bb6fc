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

#include <hyperparallel/runtime/kernel.hpp>

namespace hyperparallel {

struct bind_error : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

struct task_error : std::runtime_error {
  int task;
  int rank;
  std::string operation;  ///< the operation's name
  std::string slot;       ///< the name of the first slot that the task writes; empty when it writes none

  task_error(int task_, int rank_, std::string operation_, std::string slot_, const std::string& cause)
      : std::runtime_error("task " + std::to_string(task_) + " on rank " + std::to_string(rank_) + ": " + operation_ +
                           (slot_.empty() ? std::string() : " writing " + slot_) + " failed" +
                           (cause.empty() ? std::string() : ": " + cause)),
        task(task_),
        rank(rank_),
        operation(std::move(operation_)),
        slot(std::move(slot_)) {}
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
inline std::string to_text(const std::vector<named_task>& tasks) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < tasks.size() && i < most; ++i) text += (i == 0 ? "" : ", ") + to_text(tasks[i]);
  if (tasks.size() > most) text += " and " + std::to_string(tasks.size() - most) + " more";
  return text;
}

inline std::string to_text(const waiting_task& t) {
  return to_text(static_cast<const named_task&>(t)) + " waits for event " + std::to_string(t.event) + ", which has " +
         std::to_string(t.signals_seen) + " of " + std::to_string(t.signals_needed) + " signals; " +
         (t.producers.empty() ? "no task is left that signals it" : "still to signal it: " + to_text(t.producers));
}

struct deadlock_error : std::runtime_error, waiting_task {
  explicit deadlock_error(waiting_task t)
      : std::runtime_error("no task can run: " + to_text(t)), waiting_task(std::move(t)) {}
};

struct stall_error : std::runtime_error {
  std::vector<named_task> running;
  waiting_task waiting;  ///< task -1: nobody waits

  stall_error(std::int64_t milliseconds, std::vector<named_task> running_, waiting_task waiting_)
      : std::runtime_error("no task has ended for " + std::to_string(milliseconds) + " ms" +
                           (running_.empty() ? std::string() : "; running: " + to_text(running_)) +
                           (waiting_.task < 0 ? std::string() : "; " + to_text(waiting_))),
        running(std::move(running_)),
        waiting(std::move(waiting_)) {}
};

inline std::string operation_name(const program_names& names, int operation) {
  if (operation >= 0 && operation < names.operations && names.operation[operation] != nullptr)
    return names.operation[operation];
  return "operation " + std::to_string(operation);
}

/// Empty for a negative slot.
inline std::string slot_name(const program_names& names, int slot) {
  if (slot < 0) return {};
  if (slot < names.slots && names.slot[slot] != nullptr) return names.slot[slot];
  return "slot " + std::to_string(slot);
}

/// The first line of what `error` says; empty when it is no std::exception.
inline std::string first_line(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    const std::string text = e.what();
    return text.substr(0, text.find('\n'));
  } catch (...) {
    return {};
  }
}

namespace detail {

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

}  // namespace hyperparallel
