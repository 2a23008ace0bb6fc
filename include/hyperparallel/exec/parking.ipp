// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of parking.hpp; see support/compiled.hpp.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include <hyperparallel/exec/parking.hpp>
#include <hyperparallel/kernels/steady_time.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

HYPERPARALLEL_BODY void sleep_until(std::int64_t time) noexcept {
#if defined(__linux__)
  timespec end{};
  end.tv_sec = static_cast<decltype(end.tv_sec)>(time / 1'000'000'000);
  end.tv_nsec = static_cast<decltype(end.tv_nsec)>(time % 1'000'000'000);
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr);
#else
  std::this_thread::sleep_for(std::chrono::nanoseconds(time - steady_nanoseconds()));
#endif
}

HYPERPARALLEL_BODY void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

HYPERPARALLEL_BODY void sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t timeout) noexcept {
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

HYPERPARALLEL_BODY void wake_sleeper(std::atomic<std::uint32_t>& word) noexcept {
#if defined(__linux__)
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
#else
  word.notify_all();
#endif
}

}  // namespace detail

HYPERPARALLEL_BODY std::uint32_t doorbell::prepare() noexcept {
  const std::uint32_t seen = rings.load(std::memory_order_seq_cst);
  parked.store(1, std::memory_order_seq_cst);
  return seen;
}

HYPERPARALLEL_BODY void doorbell::park(std::uint32_t seen, std::int64_t timeout) noexcept {
  if (timeout < 0)
    while (rings.load(std::memory_order_seq_cst) == seen) detail::sleep_on(rings, seen, -1);
  else if (rings.load(std::memory_order_seq_cst) == seen)
    detail::sleep_on(rings, seen, timeout);
  leave();
}

HYPERPARALLEL_BODY void doorbell::ring() noexcept {
  if (parked.load(std::memory_order_seq_cst) == 0) return;
  if (parked.exchange(0, std::memory_order_seq_cst) == 0) return;
  rings.fetch_add(1, std::memory_order_seq_cst);
  detail::wake_sleeper(rings);
}

}}  // namespace hyperparallel::v0_2
