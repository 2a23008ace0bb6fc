// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a thread had a core while it wanted one: the time that it computed beside the time that passed.
//
// A thread asks between tasks, by count, about every millisecond: a clock at every task would cost as much as an empty
// task does. A core counts as lost from the first look that finds a part of it missing until a number of looks in a row
// find it whole, since a system takes a core away for some milliseconds and then gives it back for as long.
//
// Law: a system that does not tell what a thread computed never takes a core away.

#include <cstdint>

#include <hyperparallel/kernels/steady_time.hpp>

#if defined(__linux__)
#include <pthread.h>
#endif

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Nanoseconds that the calling thread has computed; negative where the system does not tell. Some hundred nanoseconds.
std::int64_t thread_nanoseconds() noexcept;
#if defined(__linux__)
/// The same of another thread. Domain: it has not been joined.
std::int64_t thread_nanoseconds(pthread_t thread) noexcept;
#endif

/// Of one thread, and read by it alone.
class core_loss {
 public:
  /// The thread slept until now, or begins: what is to be counted begins after the next tasks. No clock is asked.
  void restart() noexcept {
    from_ = 0;
    left_ = stride_ < first_tasks ? stride_ : first_tasks;
  }

  /// At every task, and true about once a millisecond: then `look` is to be asked.
  bool due() noexcept { return --left_ <= 0; }

  /// Whether a part of the core is missing since the look before. Begins the next millisecond.
  bool look() noexcept {
    const std::int64_t now = steady_nanoseconds(), computed = thread_nanoseconds();
    const bool missing = from_ != 0 && note(now - from_, computed < 0 ? now - from_ : computed - computed_from_);
    from_ = now;
    computed_from_ = computed;
    left_ = stride_;
    return missing;
  }

  /// A last look before the thread sleeps, or leaves.
  void end() noexcept {
    if (from_ != 0) look();
    restart();
  }

  /// The core is lost: by the last look, or by one a short time before.
  bool lost() const noexcept { return whole_left_ > 0; }

  /// Whether a task lasts about so many nanoseconds or more, waits between tasks included: by count, no clock is asked.
  /// Right from about the eighth look on.
  bool tasks_last(std::int64_t nanoseconds) const noexcept { return stride_ * nanoseconds <= period; }

  /// One look: of `passed` nanoseconds the thread has computed `computed`. Returns whether a part is missing.
  bool note(std::int64_t passed, std::int64_t computed) noexcept;

 private:
  static constexpr std::int64_t period = 1'000'000, least = period / 8;  // nanoseconds
  static constexpr int looks_until_whole = 256, most_tasks = 1 << 16, first_tasks = 64;

  std::int64_t from_ = 0, computed_from_ = 0;  ///< of the look before; 0: there was none
  int stride_ = first_tasks;                   ///< tasks between looks
  int left_ = first_tasks;
  int whole_left_ = 0;
};

}}}  // namespace hyperparallel::v0_2::detail

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/exec/core_loss.ipp>
#endif
