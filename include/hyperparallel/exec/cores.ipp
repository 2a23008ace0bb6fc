// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of cores.hpp; see support/compiled.hpp.

#include <sched.h>
#include <span>
#include <thread>
#include <vector>

#include <hyperparallel/exec/cores.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY std::vector<int> allowed_cores() {
  std::vector<int> cores;
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int c = 0; c < CPU_SETSIZE; ++c)
      if (CPU_ISSET(static_cast<unsigned>(c), &set)) cores.push_back(c);
#endif
  return cores;
}

HYPERPARALLEL_BODY int allowed_core_count(const std::vector<int>& cores) {
  if (!cores.empty()) return static_cast<int>(cores.size());
  const int n = static_cast<int>(std::thread::hardware_concurrency());
  return n > 0 ? n : 1;
}

#if defined(__linux__)
namespace detail {

inline cpu_set_t set_of(std::span<const int> cores) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int c : cores)
    if (c >= 0 && c < CPU_SETSIZE) CPU_SET(static_cast<unsigned>(c), &set);
  return set;
}

HYPERPARALLEL_BODY bool move_thread(pthread_t thread, int core) noexcept {
  const cpu_set_t set = detail::set_of({&core, 1});
  return CPU_COUNT(&set) > 0 && pthread_setaffinity_np(thread, sizeof set, &set) == 0;
}

}  // namespace detail
#endif

namespace detail {

HYPERPARALLEL_BODY void move_freely([[maybe_unused]] std::span<const int> cores) noexcept {
#if defined(__linux__)
  const cpu_set_t set = detail::set_of(cores);
  if (CPU_COUNT(&set) > 0) sched_setaffinity(0, sizeof set, &set);
#endif
}

}  // namespace detail

HYPERPARALLEL_BODY scoped_pin::scoped_pin([[maybe_unused]] std::span<const int> cores) noexcept {
#if defined(__linux__)
  const cpu_set_t set = detail::set_of(cores);
  if (CPU_COUNT(&set) == 0 || sched_getaffinity(0, sizeof former_, &former_) != 0) return;
  pinned_ = sched_setaffinity(0, sizeof set, &set) == 0;
#endif
}

HYPERPARALLEL_BODY scoped_pin::~scoped_pin() {
#if defined(__linux__)
  if (pinned_) sched_setaffinity(0, sizeof former_, &former_);
#endif
}

}}  // namespace hyperparallel::v0_2
