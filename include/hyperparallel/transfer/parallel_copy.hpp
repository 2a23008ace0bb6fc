// SPDX-License-Identifier: Apache-2.0
#pragma once
// Carries out a copy schedule on threads that stay: equal bytes for each, progress, and a way to stop a long move.
//
// Law: after a complete run every byte of the schedule has been moved once and all threads' stores are visible to the
// caller; after a cancelled run only some have, no thread is still writing, and the move can be run again from its
// start. Running allocates nothing and takes no lock.

#include <atomic>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <utility>
#include <vector>

#include <hyperparallel/exec/cores.hpp>
#include <hyperparallel/exec/crew.hpp>
#include <hyperparallel/exec/execution.hpp>
#include <hyperparallel/kernels/steady_time.hpp>
#include <hyperparallel/support/owned.hpp>
#include <hyperparallel/transfer/copy_schedule.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct copy_options {
  int threads = 0;  ///< exactly so many, up to 64; 0: one per core that the process may use and per MiB to move
  bool pin = true;  ///< one core per thread during runs, when there are enough cores
  int spin = 2000;  ///< pauses before sleeping; used when every thread can have a core
  std::int64_t streaming_from = -1;  ///< bytes of a move that streams; -1: what its first runs find faster
};

class parallel_copy {
 public:
  static constexpr int max_threads = 64;

  /// Starts the threads. Throws std::system_error when one cannot be started.
  explicit parallel_copy(copy_schedule schedule, const copy_options& options = {});
  parallel_copy(const parallel_copy&) = delete;
  parallel_copy& operator=(const parallel_copy&) = delete;

  const copy_schedule& schedule() const { return schedule_; }
  int threads() const { return crew_->workers(); }
  /// How the next run stores and fetches.
  copy_way way() const { return choice_.next(); }

  /// Moves everything once; `watch` is told bytes. Throws what its report throws, std::logic_error when called while
  /// running.
  run_result run(const progress& watch = {});

  /// Asks the run in progress to end; each thread follows within about a MiB. Any thread; without a run in progress it
  /// has no effect.
  void cancel() noexcept { ending_.claim(detail::run_end::cancelled); }

  /// Bytes moved by the current or last run. Any thread.
  std::int64_t finished() const;

 private:
  struct alignas(cache_line) share {
    copy_part part{};
    std::atomic<std::int64_t> moved{0};
  };

  int thread_count(int asked, int available) const;

  std::atomic<std::int64_t>& moved_by(int worker) const { return share_[static_cast<std::size_t>(worker)].moved; }

  static void enter(void* self, int worker) { static_cast<parallel_copy*>(self)->work(worker); }

  void work(int me);

  void set_next_report() { next_report_ = detail::steady_nanoseconds() + watch_.period_nanoseconds(); }

  /// Of worker 0. An exception ends the run.
  void report() noexcept;

  copy_schedule schedule_;
  way_choice choice_;
  detail::owned<share[]> share_;  ///< by worker
  progress watch_{};
  std::int64_t next_report_ = 0;  ///< of steady_nanoseconds()
  std::atomic<bool> running_{false};
  detail::run_ending ending_;
  detail::owned<crew> crew_;  ///< last: its threads leave before the rest is destroyed
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/transfer/parallel_copy.ipp>
#endif
