// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a run is asked for and watched: no thread, no atomic, so that those who only say it include little.

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

enum class run_result {
  complete,
  cancelled,
  skipped,  ///< a step of training whose gradients are not finite: no parameter was updated, see gradient_overflow.hpp
};

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

/// Names for messages and pictures; a missing table or entry reads as "operation 3", "slot 5".
struct program_names {
  const char* const* operation = nullptr;
  int operations = 0;
  const char* const* slot = nullptr;
  int slots = 0;
  const char* const* written = nullptr;  ///< of each operation: what it writes, for plans without slots
};

namespace detail {

/// Pauses before a worker sleeps between runs, at most.
inline constexpr int spin_between_runs = 2000;

}  // namespace detail

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

}}  // namespace hyperparallel::v0_2
