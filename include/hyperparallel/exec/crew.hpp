// SPDX-License-Identifier: Apache-2.0
#pragma once
// Threads that live across runs. The caller of `run` is worker 0; the others sleep on their own doorbells in between.
//
// Law: `run` returns only after every worker has left the work function, and what the caller wrote before `run` is
// visible to all of them, what they wrote is visible to the caller afterwards. `lead` waits for nobody: a worker enters
// the work function once for each run, but perhaps when the run is over. Starting a run allocates nothing.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <hyperparallel/exec/cores.hpp>
#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/exec/parking.hpp>
#include <hyperparallel/support/owned.hpp>

namespace hyperparallel { inline namespace v0_2 {

class crew {
 public:
  /// What each worker runs once a run. It must not let an exception out.
  using work_function = void (*)(void* self, int worker);

  /// `cores[w]` is worker w's core, or `cores` is empty: not pinned. `spin` pauses pass before a waiting thread sleeps.
  /// Throws std::system_error when a thread cannot be started; those already started are joined first.
  crew(int workers, std::vector<int> cores, int spin, work_function work, void* self);
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;
  ~crew() { dismiss(); }

  int workers() const { return workers_; }

  /// Tells the other workers of a run and does worker 0's part. The caller runs on `cores` alone until then; none: no change.
  void lead(std::span<const int> cores) {
    const scoped_pin pin(cores);
    run_.fetch_add(1, std::memory_order_seq_cst);
    for (int w = 1; w < workers_; ++w) bell_[static_cast<std::size_t>(w)].ring();
    work_(self_, 0);
  }

  /// One run. While worker 0 waits for the others, `tick()` (noexcept) is called about every `tick_period` nanoseconds
  /// unless that is negative. Domain: one run at a time, by one
  /// of the two.
  template <class Tick>
  void run(std::int64_t tick_period, const Tick& tick) {
    done_.store(0, std::memory_order_relaxed);
    lead({cores_.data(), cores_.empty() ? 0U : 1U});
    while (!await(bell_[0], tick_period, [&] { return done_.load(std::memory_order_seq_cst) == workers_ - 1; })) tick();
  }

 private:
  int core_of(int worker) const { return cores_.empty() ? -1 : cores_[static_cast<std::size_t>(worker)]; }

  /// Spins, then sleeps, until `holds()`. False when the timeout passed first.
  template <class Condition>
  bool await(doorbell& bell, std::int64_t timeout, const Condition& holds) const {
    for (int i = 0; i < spin_; ++i) {
      if (holds()) return true;
      detail::spin_pause();
    }
    for (;;) {
      const std::uint32_t seen = bell.prepare();
      if (holds()) {
        bell.leave();
        return true;
      }
      bell.park(seen, timeout);
      if (holds()) return true;
      if (timeout >= 0) return false;
    }
  }

  void live(int worker);

  void dismiss();

  int workers_;
  int spin_;
  work_function work_;
  void* self_;
  std::vector<int> cores_;
  detail::owned<doorbell[]> bell_;
  alignas(cache_line) std::atomic<std::uint32_t> run_{0};
  std::atomic<bool> dismissed_{false};
  alignas(cache_line) std::atomic<int> done_{0};
  detail::light_vector<std::thread> thread_;
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/exec/crew.ipp>
#endif
