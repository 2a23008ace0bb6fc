// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of cores.hpp; see support/compiled.hpp.

#include <sched.h>
#include <span>
#include <thread>
#include <vector>

#include <hyperparallel/runtime/cores.hpp>
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

HYPERPARALLEL_BODY void move_freely([[maybe_unused]] std::span<const int> cores) noexcept {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int c : cores)
    if (c >= 0 && c < CPU_SETSIZE) CPU_SET(static_cast<unsigned>(c), &set);
  if (CPU_COUNT(&set) > 0) sched_setaffinity(0, sizeof set, &set);
#endif
}

HYPERPARALLEL_BODY scoped_pin::scoped_pin([[maybe_unused]] int core) noexcept {
#if defined(__linux__)
  if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof former_, &former_) != 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(core), &set);
  pinned_ = sched_setaffinity(0, sizeof set, &set) == 0;
#endif
}

HYPERPARALLEL_BODY scoped_pin::~scoped_pin() {
#if defined(__linux__)
  if (pinned_) sched_setaffinity(0, sizeof former_, &former_);
#endif
}

}}  // namespace hyperparallel::v0_2
