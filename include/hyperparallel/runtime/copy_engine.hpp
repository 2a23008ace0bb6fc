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

#include <hyperparallel/offload/offload_link.hpp>
#include <hyperparallel/runtime/copy_error.hpp>
#include <hyperparallel/runtime/cores.hpp>
#include <hyperparallel/runtime/failure.hpp>
#include <hyperparallel/runtime/parking.hpp>

namespace hyperparallel {

enum class copy_state : unsigned char { waiting, running, complete, cancelled, failed };

constexpr bool is_over(copy_state s) { return s != copy_state::waiting && s != copy_state::running; }

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
  explicit copy_engine(offload_link link = {}, copy_engine_options options = {})
      : link_(link), options_(std::move(options)) {
    if (link.bytes_per_second < 1) throw copy_error(copy_code::bandwidth_is_not_positive, {}, 0);
    if (link.latency < 0) throw copy_error(copy_code::latency_is_negative, {}, 0);
    if (options_.chunk < 1) throw copy_error(copy_code::chunk_is_not_positive, {}, 0);
    if (options_.driver == copy_driver::automatic)
      options_.driver = allowed_core_count(allowed_cores()) > 1 ? copy_driver::thread : copy_driver::caller;
    if (has_thread()) thread_ = std::thread([this]() noexcept { live(); });
  }
  copy_engine(const copy_engine&) = delete;
  copy_engine& operator=(const copy_engine&) = delete;

  /// Cancels what is not over. Domain: nobody waits.
  ~copy_engine() {
    {
      const std::lock_guard lock(mutex_);
      for (; !queue_.empty(); queue_.pop_front()) end(*queue_.front(), copy_state::cancelled);
      if (running_ != nullptr) running_->stop.store(true, std::memory_order_seq_cst);
      dismissed_ = true;
    }
    bell_.ring();
    if (thread_.joinable()) thread_.join();
  }

  bool has_thread() const { return options_.driver == copy_driver::thread; }
  const offload_link& link() const { return link_; }
  std::int64_t now() const { return std::chrono::nanoseconds(clock::now() - made_).count() * nanosecond; }

  /// Queues a copy. Until it is over the source must not change and nobody may use the target. Throws copy_error.
  copy_ticket submit(std::string tensor, std::byte* to, const std::byte* from, std::int64_t bytes) {
    if (bytes < 0) throw copy_error(copy_code::size_is_negative, tensor, bytes);
    if (bytes > 0 && (to == nullptr || from == nullptr)) throw copy_error(copy_code::address_is_null, tensor, bytes);
    const std::less<const std::byte*> before;
    if (bytes > 0 && before(to, from + bytes) && before(from, to + bytes))
      throw copy_error(copy_code::ranges_overlap, tensor, bytes);
    const std::int64_t duration = link_copy_time(link_, bytes);
    if (duration == longest_time) throw copy_error(copy_code::takes_too_long, tensor, bytes);
    copy_ticket ticket;
    ticket.job_ = std::make_shared<detail::copy_job>();
    detail::copy_job& job = *ticket.job_;
    job.tensor = std::move(tensor);
    job.to = to;
    job.from = from;
    job.bytes = bytes;
    job.duration = duration;
    {
      const std::lock_guard lock(mutex_);
      job.times.submitted = now();
      queue_.push_back(ticket.job_);
    }
    bell_.ring();
    return ticket;
  }

  /// Never sleeps. Without a thread it first carries out the copies that are due by now.
  copy_state state(const copy_ticket& ticket) noexcept {
    if (!ticket) return copy_state::complete;
    std::unique_lock lock(mutex_);
    if (!has_thread())
      while (!is_over(ticket.job_->state) && running_ == nullptr && !queue_.empty() &&
             std::max(queue_.front()->times.submitted, free_) + queue_.front()->duration <= now())
        perform_first(lock);
    return ticket.job_->state;
  }

  /// Sleeps until the copy is over, whichever way.
  copy_state settle(const copy_ticket& ticket) noexcept {
    if (!ticket) return copy_state::complete;
    std::unique_lock lock(mutex_);
    if (is_over(ticket.job_->state)) return ticket.job_->state;
    const std::int64_t before = now();
    while (!is_over(ticket.job_->state))
      if (has_thread() || running_ != nullptr)
        over_.wait(lock);
      else
        perform_first(lock);
    statistics_.waited += now() - before;
    return ticket.job_->state;
  }

  /// Sleeps until the copy is complete. Throws copy_error, which names the tensor, when it failed or was cancelled.
  void wait(const copy_ticket& ticket) {
    const copy_state s = settle(ticket);
    if (s == copy_state::failed) throw failure(ticket);
    if (s == copy_state::cancelled) throw copy_error(copy_code::cancelled, ticket.job_->tensor, ticket.job_->bytes);
  }

  /// What `wait` throws. Domain: the copy has failed.
  copy_error failure(const copy_ticket& ticket) const {
    const std::lock_guard lock(mutex_);
    return {copy_code::failed, ticket.job_->tensor, ticket.job_->bytes, ticket.job_->complaint};
  }

  /// Ends a copy that is not over, and returns when its memory is no longer touched: its target then holds anything.
  /// False when it was over before.
  bool cancel(const copy_ticket& ticket) noexcept {
    if (!ticket) return false;
    std::unique_lock lock(mutex_);
    detail::copy_job& job = *ticket.job_;
    if (is_over(job.state)) return false;
    if (job.state == copy_state::waiting) {
      queue_.erase(std::find(queue_.begin(), queue_.end(), ticket.job_));
      end(job, copy_state::cancelled);
      return true;
    }
    job.stop.store(true, std::memory_order_seq_cst);
    bell_.ring();
    over_.wait(lock, [&] { return is_over(job.state); });
    return job.state == copy_state::cancelled;
  }

  /// Domain: the copy is over.
  copy_times times(const copy_ticket& ticket) const {
    const std::lock_guard lock(mutex_);
    return ticket ? ticket.job_->times : copy_times{};
  }

  copy_statistics statistics() const {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }

 private:
  using clock = std::chrono::steady_clock;

  /// Carries out the first copy of the queue, without the lock. Domain: the queue is not empty, nothing is running.
  void perform_first(std::unique_lock<std::mutex>& lock) noexcept {
    const std::shared_ptr<detail::copy_job> job = running_ = queue_.front();
    queue_.pop_front();
    job->state = copy_state::running;
    job->times.started = std::max(job->times.submitted, free_);
    const std::int64_t due = job->times.due = job->times.started + job->duration;
    lock.unlock();

    bool whole = false;
    const std::int64_t begin = now();
    std::int64_t moved = begin;
    std::string complaint = detail::complaint_of([&] {
      const bool all = move_bytes(*job);
      moved = now();
      whole = all && await(due, *job);
    });

    lock.lock();
    job->complaint = std::move(complaint);
    free_ = whole ? due : std::clamp(now(), job->times.started, due);
    statistics_.busy += std::max(free_ - job->times.started, moved - begin);
    running_ = nullptr;
    end(*job, whole ? copy_state::complete : job->complaint.empty() ? copy_state::cancelled : copy_state::failed);
  }

  /// False when it was told to stop.
  bool move_bytes(detail::copy_job& job) const {
    for (std::int64_t done = 0; done < job.bytes;) {
      if (job.stop.load(std::memory_order_relaxed)) return false;
      const std::int64_t bytes = std::min(options_.chunk, job.bytes - done);
      if (options_.move)
        options_.move(job.to + done, job.from + done, bytes);
      else
        std::memcpy(job.to + done, job.from + done, static_cast<std::size_t>(bytes));
      done += bytes;
    }
    return true;
  }

  /// False when it was told to stop before `due`.
  bool await(std::int64_t due, const detail::copy_job& job) noexcept {
    for (;;) {
      const std::uint32_t seen = bell_.prepare();
      const std::int64_t left = due - now() - options_.spin;
      if (left <= 0 || job.stop.load(std::memory_order_seq_cst)) break;
      bell_.park(seen, left / nanosecond);
    }
    bell_.leave();
    while (now() < due) {
      if (job.stop.load(std::memory_order_relaxed)) return false;
      spin_pause();
    }
    return true;
  }

  /// Domain: the mutex is held.
  void end(detail::copy_job& job, copy_state s) noexcept {
    job.state = s;
    job.times.ended = now();
    if (s == copy_state::complete) {
      ++statistics_.copies;
      statistics_.bytes += job.bytes;
      statistics_.most_late = std::max(statistics_.most_late, job.times.ended - job.times.due);
    } else {
      ++(s == copy_state::failed ? statistics_.failed : statistics_.cancelled);
    }
    over_.notify_all();
  }

  void live() noexcept {
    const scoped_pin pin(options_.core);
    for (;;) {
      const std::uint32_t seen = bell_.prepare();
      std::unique_lock lock(mutex_);
      if (!queue_.empty()) {
        bell_.leave();
        perform_first(lock);
        continue;
      }
      if (dismissed_) return;
      lock.unlock();
      bell_.park(seen);
    }
  }

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

}  // namespace hyperparallel
