// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a run is asked for, watched, and how it ended.
//
// Law: of all that may end a run early (cancel, a failing task, a failing report, a deadlock, the watchdog) the first
// one wins, and only its thread writes the details, which the caller reads after every worker has left.

#include <atomic>
#include <cstdint>
#include <exception>

#include <hyperparallel/runtime/kernel.hpp>

namespace hyperparallel {

enum class run_result { complete, cancelled };

/// Called by worker 0, at most once every `period` milliseconds and once at the end of a run that succeeds.
/// An exception from it ends the run and reaches the caller as it is.
struct progress {
  void (*report)(void* user, std::int64_t finished, std::int64_t total) = nullptr;
  void* user = nullptr;
  std::int64_t period = 100;

  /// Nanoseconds between reports; negative when nobody watches.
  constexpr std::int64_t period_nanoseconds() const {
    return report == nullptr ? -1 : (period > 1 ? period : 1) * 1'000'000;
  }
};

/// Pauses before a worker sleeps between runs, at most.
inline constexpr int spin_between_runs = 2000;

struct executor_options {
  int threads = 0;  ///< workers at most; 0: as many as the process may use cores
  bool pin = true;  ///< one core per worker during runs, when there are enough cores
  /// Pauses before a worker sleeps while a run goes on; used when every worker can have a core. To sleep and be woken
  /// interrupts both cores for some microseconds, so waits as long as a few tasks are better spun through.
  int spin = 20000;
  program_names names{};
  /// Milliseconds in which at least one task must end, else the run fails with a `stall_error`; 0: no watchdog. Longer
  /// than the longest task.
  std::int64_t watchdog = 0;
  /// Called once by the watchdog's thread when it has found a run without progress, with the error's text: `run` itself
  /// returns only after the kernels that are running have returned. Must not throw.
  void (*stalled)(void* user, const char* what) = nullptr;
  void* stalled_user = nullptr;
  /// Every queue of a copy engine has a worker of its own beside the others, which sleeps while a copy takes its time.
  bool copy_workers = false;
};

namespace detail {

/// Shared by the workers of one run. `record` is a place in the bound plan.
struct run_ending : run_condition {
  int record = -1;
  std::exception_ptr error;

  void restart() {
    error = nullptr;
    record = -1;
    noticed.store(false, std::memory_order_relaxed);
    why.store(run_end::running, std::memory_order_seq_cst);
  }

  /// After the last worker has left: nothing can end the run any more. Returns how it ended.
  run_end close() { return why.exchange(run_end::over, std::memory_order_seq_cst); }

  bool running(std::memory_order order) const { return why.load(order) == run_end::running; }

  /// True for the first caller of a run.
  bool claim(run_end reason) noexcept {
    run_end expected = run_end::running;
    return why.compare_exchange_strong(expected, reason, std::memory_order_seq_cst);
  }
};

}  // namespace detail

}  // namespace hyperparallel
