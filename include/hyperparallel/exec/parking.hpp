// SPDX-License-Identifier: Apache-2.0
#pragma once
// Waiting without burning a core: a thread's own doorbell, a word on which only that thread sleeps.
//
// Law (no lost wake-up): the waiter stores `parked` and then re-reads its condition; the signaller publishes the
// condition and then loads `parked`. All four are sequentially consistent, so at least one of the two sees the other;
// or the waiter runs a `heavy_fence` between its two, and the signaller needs none (asymmetric_fence.hpp). Our own
// futex word is used because the standard library hashes every cache-line aligned atomic into one bucket of waiters:
// one sleeping thread anywhere would make each notification of anything a system call.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#else
#include <chrono>  // costs a compiler a twentieth of dtensor.hpp
#endif

namespace hyperparallel { inline namespace v0_2 {

/// Bytes that two threads must not share when both write.
inline constexpr std::size_t cache_line = 64;

namespace detail {

/// Lets this thread sleep until `steady_nanoseconds` is `time`; a signal may end it sooner.
void sleep_until(std::int64_t time) noexcept;

/// Tells the core that this is a spin loop; some tens of nanoseconds where the instruction exists.
void spin_pause() noexcept;

static_assert(sizeof(std::atomic<std::uint32_t>) == 4 && std::atomic<std::uint32_t>::is_always_lock_free);

/// Sleeps while `word` equals `seen`, at most `timeout` nanoseconds (negative: no limit). May return early.
void sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t timeout) noexcept;

void wake_sleeper(std::atomic<std::uint32_t>& word) noexcept;

}  // namespace detail

/// Use by the one waiter:  seen = prepare();  if (condition, read seq_cst) leave();  else park(seen);
/// Use by any signaller:   publish the condition by a seq_cst operation;  ring();
struct alignas(cache_line) doorbell {
  std::atomic<std::uint32_t> rings{0};
  std::atomic<std::uint32_t> parked{0};

  /// Announces that this thread is about to sleep. The condition must be read again afterwards.
  std::uint32_t prepare() noexcept;

  void leave() noexcept { parked.store(0, std::memory_order_seq_cst); }

  /// Sleeps until the bell has rung since `prepare`, or until `timeout` nanoseconds have passed (negative: no limit).
  void park(std::uint32_t seen, std::int64_t timeout = -1) noexcept;

  /// Wakes the waiter if it sleeps or is about to; two loads' cost when it does not.
  void ring() noexcept;
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/exec/parking.ipp>
#endif
