// SPDX-License-Identifier: Apache-2.0
#pragma once
// A copy engine: carries out copies one after the other, no faster than a link of given bandwidth and latency would.
//
// The bytes are moved for real, in chunks; then the engine waits for the copy's deadline. Deadlines are absolute: a
// copy starts when it was submitted or when the one before it was due, whichever is later, and is due latency + bytes ÷
// bandwidth after that, so a late wake-up delays one copy and not all that follow. The engine sleeps until `spin`
// before the deadline and spins the rest: sleeping alone is late by tens of microseconds, spinning alone takes a core.
//
// Laws: copies end in the order in which they were submitted; none ends before it is due; one that fails or is
// cancelled does not hold up those behind it, and after its end the engine touches none of its memory. What the
// submitter wrote before `submit` is what is copied; who has waited sees all bytes. An engine that its callers drive
// has no thread: the copies happen inside `wait` and `state`, against the same deadlines, so a caller who worked
// meanwhile finds them due. Times are picoseconds since the engine was made.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <hyperparallel/exec/cores.hpp>
#include <hyperparallel/exec/failure.hpp>
#include <hyperparallel/exec/parking.hpp>
#include <hyperparallel/offload/offload_link.hpp>
#include <hyperparallel/transfer/copy_error.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class copy_state : unsigned char { waiting, running, complete, cancelled, failed };

namespace detail {

constexpr bool is_over(copy_state s) { return s != copy_state::waiting && s != copy_state::running; }

}  // namespace detail

struct copy_times {
  std::int64_t submitted = 0, started = 0, due = 0, ended = 0;
};

struct copy_statistics {
  std::int64_t copies = 0;  ///< complete ones
  std::int64_t bytes = 0;   ///< of complete ones
  std::int64_t cancelled = 0;
  std::int64_t failed = 0;
  std::int64_t busy = 0;    ///< time for which copies held the link: simulated, or what moving took if that is longer
  std::int64_t waited = 0;  ///< time for which callers stood in `wait`: busy time that nothing hid
  std::int64_t most_late = 0;  ///< longest time from due to end
};

enum class copy_driver : unsigned char {
  automatic,  ///< a thread where the process may use more than one core, else the caller
  thread,
  caller,
};

struct copy_engine_options {
  copy_driver driver = copy_driver::automatic;
  int core = -1;                          ///< of the thread, -1: any
  std::int64_t spin = 100 * microsecond;  ///< before a deadline
  std::int64_t chunk = 256 * KiB;         ///< a cancelled copy stops after the chunk at hand
  std::function<void(std::byte* to, const std::byte* from, std::int64_t bytes)> move;  ///< a chunk; empty: memcpy
};

namespace detail {

struct copy_job {
  std::string tensor;
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::int64_t bytes = 0;
  std::int64_t duration = 0;
  std::atomic<bool> stop{false};
  // The rest belongs to who holds the engine's mutex.
  copy_state state = copy_state::waiting;
  copy_times times;
  std::string complaint;
};

}  // namespace detail

/// A submitted copy. An empty ticket counts as complete.
class copy_ticket {
 public:
  explicit operator bool() const { return job_ != nullptr; }

 private:
  friend class copy_engine;
  std::shared_ptr<detail::copy_job> job_;
};

/// All functions may be called by any threads; tickets go back to the engine that gave them.
class copy_engine {
 public:
  /// Throws copy_error where rate or options make no engine, std::system_error when the thread cannot be started.
  explicit copy_engine(offload_link link = {}, copy_engine_options options = {});
  copy_engine(const copy_engine&) = delete;
  copy_engine& operator=(const copy_engine&) = delete;

  /// Cancels what is not over. Domain: nobody waits.
  ~copy_engine();

  bool has_thread() const { return options_.driver == copy_driver::thread; }
  const offload_link& link() const { return link_; }
  std::int64_t now() const { return std::chrono::nanoseconds(clock::now() - made_).count() * nanosecond; }

  /// Queues a copy. Until it is over the source must not change and nobody may use the target. Throws copy_error.
  copy_ticket submit(std::string tensor, std::byte* to, const std::byte* from, std::int64_t bytes);

  /// Never sleeps. Without a thread it first carries out the copies that are due by now.
  copy_state state(const copy_ticket& ticket) noexcept;

  /// Sleeps until the copy is over, whichever way.
  copy_state settle(const copy_ticket& ticket) noexcept;

  /// Sleeps until the copy is complete. Throws copy_error, which names the tensor, when it failed or was cancelled.
  void wait(const copy_ticket& ticket);

  /// What `wait` throws. Domain: the copy has failed.
  copy_error failure(const copy_ticket& ticket) const;

  /// Ends a copy that is not over, and returns when its memory is no longer touched: its target then holds anything.
  /// False when it was over before.
  bool cancel(const copy_ticket& ticket) noexcept;

  /// Domain: the copy is over.
  copy_times times(const copy_ticket& ticket) const;

  copy_statistics statistics() const;

 private:
  using clock = std::chrono::steady_clock;

  /// Carries out the first copy of the queue, without the lock. Domain: the queue is not empty, nothing is running.
  void perform_first(std::unique_lock<std::mutex>& lock) noexcept;

  /// False when it was told to stop.
  bool move_bytes(detail::copy_job& job) const;

  /// False when it was told to stop before `due`.
  bool await(std::int64_t due, const detail::copy_job& job) noexcept;

  /// Domain: the mutex is held.
  void end(detail::copy_job& job, copy_state s) noexcept;

  void live() noexcept;

  offload_link link_;
  copy_engine_options options_;
  clock::time_point made_ = clock::now();
  mutable std::mutex mutex_;
  std::condition_variable over_;
  std::deque<std::shared_ptr<detail::copy_job>> queue_;
  std::shared_ptr<detail::copy_job> running_;
  std::int64_t free_ = 0;  ///< when the link was or will be free of what has run
  copy_statistics statistics_;
  bool dismissed_ = false;
  doorbell bell_;  ///< of the thread, or of the one caller who carries out a copy
  std::thread thread_;
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/transfer/copy_engine.ipp>
#endif
