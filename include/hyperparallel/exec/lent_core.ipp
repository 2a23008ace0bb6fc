// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of lent_core.hpp; see support/compiled.hpp.

#include <sched.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <hyperparallel/exec/core_loss.hpp>
#include <hyperparallel/exec/cores.hpp>
#include <hyperparallel/exec/lent_core.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

HYPERPARALLEL_BODY lent_core::lent_core(const std::vector<int>& cores, int workers)
    : workers_(workers),
      cores_(static_cast<int>(cores.size())),
      core_(detail::make_owned_array<std::atomic<int>>(cores.size())),
      thread_(detail::make_owned_array<worker_thread>(static_cast<std::size_t>(workers))) {
  for (std::size_t i = 0; i < cores.size(); ++i) core_[i].store(cores[i], std::memory_order_relaxed);
}

HYPERPARALLEL_BODY void lent_core::enter(int worker) noexcept {
  worker_thread& t = thread_[static_cast<std::size_t>(worker)];
#if defined(__linux__)
  t.id.store(pthread_self(), std::memory_order_relaxed);
#endif
  t.entered.store(true, std::memory_order_release);
}

HYPERPARALLEL_BODY void lent_core::bind(int me) const noexcept {
  int core = 0;
  do {  // it may be exchanged meanwhile
    core = core_of(me);
    move_freely({&core, 1});
  } while (core != core_of(me));
}

HYPERPARALLEL_BODY void lent_core::close() noexcept {
  for (int open = opened; !gate_.compare_exchange_weak(open, closed, std::memory_order_acq_rel); open = opened)
    std::this_thread::yield();
}

HYPERPARALLEL_BODY bool lent_core::look([[maybe_unused]] int me, [[maybe_unused]] sight& seen) noexcept {
  bool moved = false;
#if defined(__linux__)
  int open = opened;
  if (cores_ == 0 || !gate_.compare_exchange_strong(open, taken, std::memory_order_acq_rel)) return false;
  worker_thread& t = thread_[static_cast<std::size_t>(seen.worker)];
  if (t.entered.load(std::memory_order_acquire)) {
    const std::int64_t computed = thread_nanoseconds(t.id.load(std::memory_order_relaxed));
    if (computed >= 0 && computed == seen.computed && computed != t.moved_at) {
      t.moved_at = computed;
      moved = move(me, seen.worker);
    }
    seen.computed = computed;
  }
  gate_.store(opened, std::memory_order_release);
#endif
  return moved;
}

HYPERPARALLEL_BODY bool lent_core::move([[maybe_unused]] int me, [[maybe_unused]] int other) noexcept {
#if defined(__linux__)
  // A worker that has lost its core may run on one that is spare, or another's.
  const int here = sched_getcpu();
  int i = 0;
  while (i < cores_ && core_[static_cast<std::size_t>(i)].load(std::memory_order_relaxed) != here) ++i;
  if (i == cores_ || (i < workers_ && i != me && i != other)) return false;
  if (!move_thread(thread_[static_cast<std::size_t>(other)].id.load(std::memory_order_relaxed), here)) return false;
  std::atomic<int>& former = core_[static_cast<std::size_t>(other)];
  core_[static_cast<std::size_t>(i)].store(former.load(std::memory_order_relaxed), std::memory_order_relaxed);
  former.store(here, std::memory_order_relaxed);
  return true;
#else
  return false;
#endif
}

}}}  // namespace hyperparallel::v0_2::detail
