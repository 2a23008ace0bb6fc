// SPDX-License-Identifier: Apache-2.0
#pragma once
// A worker that waits lends its core to one that stands still in the middle of a task.
//
// A task that has begun runs on one thread to its end. If the system preempts that thread, everything that depends on the
// task waits for a time slice, some milliseconds, while the worker that waits for it occupies a core. The two exchange
// their cores: the preempted thread goes on at once, and the waiting worker gets the contended core.
//
// Laws: a thread that computes between two looks is not moved. A thread is moved at most once while it stands still, so a
// task that sleeps costs one exchange. Cores of workers stay distinct. Looks and moves happen only between `open` and
// `close`. Nothing happens on systems that do not report the CPU time of other threads.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <hyperparallel/exec/parking.hpp>
#include <hyperparallel/support/owned.hpp>

#if defined(__linux__)
#include <pthread.h>
#endif

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Which worker has which core.
class lent_core {
 public:
  /// What a worker that waits saw of another one.
  struct sight {
    int worker = 0;
    std::int64_t computed = -1;  ///< nanoseconds; -1: it has not looked
  };

  /// Worker w begins on `cores[w]`; cores beyond the workers' are spare. No cores: no worker is bound, none is moved.
  lent_core(const std::vector<int>& cores, int workers);

  /// The core of a worker; -1 when it is not bound. Any thread.
  int core_of(int worker) const {
    return cores_ == 0 ? -1 : core_[static_cast<std::size_t>(worker)].load(std::memory_order_relaxed);
  }

  /// The calling thread is `worker`. Worker 0 says so before each `open`; the threads of others live until after the
  /// last `close`.
  void enter(int worker) noexcept;

  /// Binds the calling thread, worker `me`, to its core.
  void bind(int me) const noexcept;

  void open() noexcept { gate_.store(opened, std::memory_order_release); }

  /// Waits for a look in progress.
  void close() noexcept;

  /// `me` waits and looks at `seen.worker`, another one, who is in a task. True when that has computed nothing since the
  /// look before, and its thread has moved to the core that the caller runs on: then the caller is to `bind` itself.
  /// One system call; when a thread moves one more, and O(cores).
  bool look(int me, sight& seen) noexcept;

  /// The same at one of the first `workers` who is in a task, twice at each in turn. O(workers).
  template <class InTask>
  bool look_at_others(int me, int workers, const InTask& in_task, sight& seen) noexcept {
    const auto next = [&] { return sight{seen.worker + 1 < workers ? seen.worker + 1 : 0}; };
    for (int i = 0; seen.worker == me || !in_task(seen.worker); ++i) {
      if (i == workers) return false;
      seen = next();
    }
    const bool again = seen.computed >= 0, moved = look(me, seen);
    if (again) seen = next();
    return moved;
  }

 private:
  enum gate : int { closed, opened, taken };

  struct alignas(cache_line) worker_thread {
#if defined(__linux__)
    std::atomic<pthread_t> id{};
#endif
    std::atomic<bool> entered{false};
    std::int64_t moved_at = -1;  ///< its CPU time when it was moved last; guarded by the gate
  };

  bool move(int me, int other) noexcept;

  const int workers_;
  const int cores_;
  detail::owned<std::atomic<int>[]> core_;  ///< of the workers, then those that are spare; written with the gate taken
  detail::owned<worker_thread[]> thread_;
  std::atomic<int> gate_{closed};
};

}}}  // namespace hyperparallel::v0_2::detail

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/exec/lent_core.ipp>
#endif
