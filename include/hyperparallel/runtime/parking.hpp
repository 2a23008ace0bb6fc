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
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#endif

namespace hyperparallel {

/// Bytes that two threads must not share when both write.
inline constexpr std::size_t cache_line = 64;

/// Tells the core that this is a spin loop; some tens of nanoseconds where the instruction exists.
inline void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

namespace detail {

static_assert(sizeof(std::atomic<std::uint32_t>) == 4 && std::atomic<std::uint32_t>::is_always_lock_free);

/// Sleeps while `word` equals `seen`, at most `timeout` nanoseconds (negative: no limit). May return early.
inline void sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t timeout) noexcept {
#if defined(__linux__)
  timespec limit{};
  limit.tv_sec = static_cast<decltype(limit.tv_sec)>(timeout / 1'000'000'000);
  limit.tv_nsec = static_cast<decltype(limit.tv_nsec)>(timeout % 1'000'000'000);
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, timeout < 0 ? nullptr : &limit, nullptr, 0);
#else
  if (timeout < 0)
    word.wait(seen);
  else
    std::this_thread::sleep_for(std::chrono::nanoseconds(timeout < 1'000'000 ? timeout : 1'000'000));
#endif
}

inline void wake_sleeper(std::atomic<std::uint32_t>& word) noexcept {
#if defined(__linux__)
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
#else
  word.notify_all();
#endif
}

}  // namespace detail

/// Use by the one waiter:  seen = prepare();  if (condition, read seq_cst) leave();  else park(seen);
/// Use by any signaller:   publish the condition by a seq_cst operation;  ring();
struct alignas(cache_line) doorbell {
  std::atomic<std::uint32_t> rings{0};
  std::atomic<std::uint32_t> parked{0};

  /// Announces that this thread is about to sleep. The condition must be read again afterwards.
  std::uint32_t prepare() noexcept {
    const std::uint32_t seen = rings.load(std::memory_order_seq_cst);
    parked.store(1, std::memory_order_seq_cst);
    return seen;
  }

  void leave() noexcept { parked.store(0, std::memory_order_seq_cst); }

  /// Sleeps until the bell has rung since `prepare`, or until `timeout` nanoseconds have passed (negative: no limit).
  void park(std::uint32_t seen, std::int64_t timeout = -1) noexcept {
    if (timeout < 0)
      while (rings.load(std::memory_order_seq_cst) == seen) detail::sleep_on(rings, seen, -1);
    else if (rings.load(std::memory_order_seq_cst) == seen)
      detail::sleep_on(rings, seen, timeout);
    leave();
  }

  /// Wakes the waiter if it sleeps or is about to; two loads' cost when it does not.
  void ring() noexcept {
    if (parked.load(std::memory_order_seq_cst) == 0) return;
    if (parked.exchange(0, std::memory_order_seq_cst) == 0) return;
    rings.fetch_add(1, std::memory_order_seq_cst);
    detail::wake_sleeper(rings);
  }
};

}  // namespace hyperparallel
