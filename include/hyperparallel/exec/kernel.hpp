// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plug between a plan and the code that does its work.
//
// A kernel is a plain function; tasks name it by the operation number that the lowering wrote. Law: whatever a kernel
// wrote before it returned is visible to every task that waits for one of its task's signals.

#include <atomic>

#include <hyperparallel/exec/run_options.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

enum class run_end : int { running, over, cancelled, task_failed, progress_failed, deadlocked, stalled };

}  // namespace detail

/// Whether and why a run is to end before its last task.
struct run_condition {
  std::atomic<detail::run_end> why{detail::run_end::over};
  mutable std::atomic<bool> noticed{false};  ///< a kernel has been told that it is to end
};

/// What a kernel learns about the task it runs. `user` is the pointer given when the kernel was bound.
struct kernel_call {
  int rank;
  int task;
  int operation;
  int item;
  void* user;
  const run_condition* run = nullptr;

  /// Whether the run is to end: cancelled, failed elsewhere, or found without progress. A long kernel that asks now and
  /// then and returns early lets `run` return; a run in which a kernel was told so does not count as complete.
  bool stopping() const noexcept {
    if (run == nullptr || run->why.load(std::memory_order_relaxed) == detail::run_end::running) return false;
    run->noticed.store(true, std::memory_order_relaxed);
    return true;
  }
};

/// May throw; the run then ends with a `task_error`.
using kernel = void (*)(const kernel_call&);

namespace detail {

struct bound_kernel {
  kernel run = nullptr;
  void* user = nullptr;
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
