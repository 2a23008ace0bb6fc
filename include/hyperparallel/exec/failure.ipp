// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of failure.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/exec/failure.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY task_error::task_error(int task_, int rank_, std::string operation_, std::string slot_,
                                          const std::string& cause)
    : std::runtime_error("task " + std::to_string(task_) + " on rank " + std::to_string(rank_) + ": " + operation_ +
                         (slot_.empty() ? std::string() : " writing " + slot_) + " failed" +
                         (cause.empty() ? std::string() : ": " + cause)),
      task(task_),
      rank(rank_),
      operation(std::move(operation_)),
      slot(std::move(slot_)) {}

HYPERPARALLEL_BODY std::string to_text(const std::vector<named_task>& tasks) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < tasks.size() && i < most; ++i) text += (i == 0 ? "" : ", ") + to_text(tasks[i]);
  if (tasks.size() > most) text += " and " + std::to_string(tasks.size() - most) + " more";
  return text;
}

HYPERPARALLEL_BODY std::string to_text(const waiting_task& t) {
  return to_text(static_cast<const named_task&>(t)) + " waits for event " + std::to_string(t.event) + ", which has " +
         std::to_string(t.signals_seen) + " of " + std::to_string(t.signals_needed) + " signals; " +
         (t.producers.empty() ? "no task is left that signals it" : "still to signal it: " + to_text(t.producers));
}

HYPERPARALLEL_BODY deadlock_error::deadlock_error(waiting_task t)
    : std::runtime_error("no task can run: " + to_text(t)), waiting_task(std::move(t)) {}

HYPERPARALLEL_BODY stall_error::stall_error(std::int64_t milliseconds, std::vector<named_task> running_,
                                            waiting_task waiting_)
    : std::runtime_error("no task has ended for " + std::to_string(milliseconds) + " ms" +
                         (running_.empty() ? std::string() : "; running: " + to_text(running_)) +
                         (waiting_.task < 0 ? std::string() : "; " + to_text(waiting_))),
      running(std::move(running_)),
      waiting(std::move(waiting_)) {}

HYPERPARALLEL_BODY std::string operation_name(const program_names& names, int operation) {
  if (operation >= 0 && operation < names.operations && names.operation[operation] != nullptr)
    return names.operation[operation];
  return "operation " + std::to_string(operation);
}

namespace detail {

HYPERPARALLEL_BODY std::string slot_name(const program_names& names, int slot) {
  if (slot < 0) return {};
  if (slot < names.slots && names.slot[slot] != nullptr) return names.slot[slot];
  return "slot " + std::to_string(slot);
}

HYPERPARALLEL_BODY std::string written_name(const program_names& names, int operation) {
  const bool known = names.written != nullptr && operation >= 0 && operation < names.operations;
  return known && names.written[operation] != nullptr ? names.written[operation] : "";
}

HYPERPARALLEL_BODY std::string first_line(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    const std::string text = e.what();
    return text.substr(0, text.find('\n'));
  } catch (...) {
    return {};
  }
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
