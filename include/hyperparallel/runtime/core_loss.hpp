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

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Nanoseconds that the calling thread has computed; negative where the system does not tell. Some hundred nanoseconds.
std::int64_t thread_nanoseconds() noexcept;

/// Of one thread, and read by it alone.
class core_loss {
 public:
  /// The thread waited until now, or something else happened that is not to be counted.
  void restart() noexcept {
    from_ = steady_nanoseconds();
    computed_from_ = thread_nanoseconds();
    left_ = stride_;
  }

  /// At every task, and true about once a millisecond: then `look` is to be asked.
  bool due() noexcept { return --left_ <= 0; }

  /// Whether the core is lost. Begins the next millisecond.
  bool look() noexcept {
    const std::int64_t now = steady_nanoseconds(), computed = thread_nanoseconds();
    const bool lost = note(now - from_, computed < 0 ? now - from_ : computed - computed_from_);
    from_ = now;
    computed_from_ = computed;
    left_ = stride_;
    return lost;
  }

  /// The core is lost: by the last look, or by one a short time before.
  bool lost() const noexcept { return whole_left_ > 0; }

  /// One look: of `passed` nanoseconds the thread has computed `computed`. Returns whether a part is missing.
  bool note(std::int64_t passed, std::int64_t computed) noexcept;

 private:
  static constexpr std::int64_t period = 1'000'000, least = period / 8;  // nanoseconds
  static constexpr int looks_until_whole = 16, most_tasks = 1 << 16;

  std::int64_t from_ = 0, computed_from_ = 0;
  int stride_ = 64;  ///< tasks between looks
  int left_ = 64;
  int whole_left_ = 0;
};

}}}  // namespace hyperparallel::v0_2::detail

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/runtime/core_loss.ipp>
#endif
