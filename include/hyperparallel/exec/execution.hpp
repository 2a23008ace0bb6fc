// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a run ended.
//
// Law: of all that may end a run early (cancel, a failing task, a failing report, a deadlock, the watchdog) the first
// one wins, and only its thread writes the details, which the caller reads after every worker has left.

#include <atomic>
#include <cstdint>
#include <exception>

#include <hyperparallel/exec/kernel.hpp>
#include <hyperparallel/exec/run_options.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

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

}}}  // namespace hyperparallel::v0_2::detail
