// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `run` throws, each on one line that names the task, its rank and what it was doing.
//
//   task_error       a kernel threw; the original is nested in it (std::rethrow_if_nested)
//   deadlock_error   every worker is blocked and no task is running
//   bind_error       the schedule and the taskflow do not fit each other, or a kernel is missing
//
// Law: after any of them all workers have left the run, and the executor can run again.

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

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

struct deadlock_error : std::runtime_error {
  int task;
  int rank;
  std::string operation;
  int event;
  std::int64_t signals_seen;
  std::int64_t signals_needed;

  deadlock_error(int task_, int rank_, std::string operation_, int event_, std::int64_t seen, std::int64_t needed)
      : std::runtime_error("no task can run: task " + std::to_string(task_) + " on rank " + std::to_string(rank_) +
                           " (" + operation_ + ") waits for event " + std::to_string(event_) + ", which has " +
                           std::to_string(seen) + " of " + std::to_string(needed) + " signals"),
        task(task_),
        rank(rank_),
        operation(std::move(operation_)),
        event(event_),
        signals_seen(seen),
        signals_needed(needed) {}
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

}  // namespace hyperparallel
