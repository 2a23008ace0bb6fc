// SPDX-License-Identifier: Apache-2.0
#pragma once
// Carries out a copy schedule on threads that stay: equal bytes for each, progress, and a way to stop a long move.
//
// Law: after a complete run every byte of the schedule has been moved once and all threads' stores are visible to the
// caller; after a cancelled run only some have, no thread is still writing, and the move can be run again from its
// start. Running allocates nothing and takes no lock.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <hyperparallel/runtime/copy_schedule.hpp>
#include <hyperparallel/runtime/cores.hpp>
#include <hyperparallel/runtime/crew.hpp>
#include <hyperparallel/runtime/execution.hpp>

namespace hyperparallel {

struct copy_options {
  int threads = 0;  ///< exactly so many, up to 64; 0: one per core that the process may use and per MiB to move
  bool pin = true;  ///< one core per thread during runs, when there are enough cores
  int spin = 2000;  ///< pauses before sleeping; used when every thread can have a core
  std::int64_t streaming_from = -1;  ///< see stores_for
};

class parallel_copy {
 public:
  static constexpr int max_threads = 64;

  /// Starts the threads. Throws std::system_error when one cannot be started.
  explicit parallel_copy(copy_schedule schedule, const copy_options& options = {})
      : schedule_(std::move(schedule)), stores_(stores_for(schedule_.bytes(), options.streaming_from)) {
    std::vector<int> cores = allowed_cores();
    const int available = allowed_core_count(cores);
    const int threads = thread_count(options.threads, available);
    if (!options.pin || static_cast<int>(cores.size()) < threads) cores.clear();
    share_ = std::make_unique<share[]>(static_cast<std::size_t>(threads));
    for (int w = 0; w < threads; ++w) share_[static_cast<std::size_t>(w)].part = schedule_.part(w, threads);
    crew_ = std::make_unique<crew>(threads, std::move(cores), threads <= available ? options.spin : 0, &enter, this);
  }
  parallel_copy(const parallel_copy&) = delete;
  parallel_copy& operator=(const parallel_copy&) = delete;

  const copy_schedule& schedule() const { return schedule_; }
  int threads() const { return crew_->workers(); }
  store_kind stores() const { return stores_; }

  /// Moves everything once; `watch` is told bytes. Throws what its report throws, std::logic_error when called while
  /// running.
  run_result run(const progress& watch = {}) {
    if (running_.exchange(true, std::memory_order_acquire)) throw std::logic_error("the copy is already running");
    struct release {
      std::atomic<bool>& flag;
      ~release() { flag.store(false, std::memory_order_release); }
    } const guard{running_};
    watch_ = watch;
    for (int w = 0; w < threads(); ++w) moved_by(w).store(0, std::memory_order_relaxed);
    if (watch_.report != nullptr) set_next_report();
    ending_.restart();
    crew_->run(watch_.period_nanoseconds(), [this]() noexcept { report(); });
    if (ending_.why.load(std::memory_order_seq_cst) == detail::run_end::progress_failed)
      std::rethrow_exception(std::exchange(ending_.error, nullptr));
    if (finished() != schedule_.bytes()) return run_result::cancelled;
    if (watch_.report != nullptr) watch_.report(watch_.user, finished(), schedule_.bytes());
    return run_result::complete;
  }

  /// Asks the run in progress to end; each thread follows within about a MiB. Any thread; without a run in progress it
  /// has no effect.
  void cancel() noexcept { ending_.claim(detail::run_end::cancelled); }

  /// Bytes moved by the current or last run. Any thread.
  std::int64_t finished() const {
    std::int64_t sum = 0;
    for (int w = 0; w < threads(); ++w) sum += moved_by(w).load(std::memory_order_relaxed);
    return sum;
  }

 private:
  struct alignas(cache_line) share {
    copy_part part{};
    std::atomic<std::int64_t> moved{0};
  };

  int thread_count(int asked, int available) const {
    const std::int64_t worth = schedule_.bytes() >> 20;
    const int automatic = worth < available ? static_cast<int>(worth) : available;
    const int threads = asked > 0 ? asked : automatic;
    return threads < 1 ? 1 : threads > max_threads ? max_threads : threads;
  }

  std::atomic<std::int64_t>& moved_by(int worker) const { return share_[static_cast<std::size_t>(worker)].moved; }

  static void enter(void* self, int worker) { static_cast<parallel_copy*>(self)->work(worker); }

  void work(int me) {
    std::atomic<std::int64_t>& moved = moved_by(me);
    schedule_.run(share_[static_cast<std::size_t>(me)].part, stores_, [&](std::int64_t bytes) noexcept {
      moved.store(moved.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
      if (me == 0 && watch_.report != nullptr) report();
      return ending_.running(std::memory_order_relaxed);
    });
  }

  void set_next_report() {
    next_report_ = std::chrono::steady_clock::now() + std::chrono::nanoseconds(watch_.period_nanoseconds());
  }

  /// Of worker 0. An exception ends the run.
  void report() noexcept {
    if (std::chrono::steady_clock::now() < next_report_ || !ending_.running(std::memory_order_relaxed)) return;
    set_next_report();
    try {
      watch_.report(watch_.user, finished(), schedule_.bytes());
    } catch (...) {
      if (ending_.claim(detail::run_end::progress_failed)) ending_.error = std::current_exception();
    }
  }

  copy_schedule schedule_;
  store_kind stores_;
  std::unique_ptr<share[]> share_;  ///< by worker
  progress watch_{};
  std::chrono::steady_clock::time_point next_report_{};
  std::atomic<bool> running_{false};
  detail::run_ending ending_;
  std::unique_ptr<crew> crew_;  ///< last: its threads leave before the rest is destroyed
};

}  // namespace hyperparallel
