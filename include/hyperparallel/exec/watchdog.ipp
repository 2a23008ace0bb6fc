// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of watchdog.hpp; see support/compiled.hpp.

#include <atomic>
#include <cstdint>
#include <thread>

#include <hyperparallel/exec/watchdog.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY watchdog::watchdog(std::int64_t period, void (*look)(void* self), void* self)
    : thread_([this, period, look, self]() noexcept {
        for (;;) {
          const std::uint32_t seen = bell_.prepare();
          if (!dismissed_.load(std::memory_order_seq_cst)) bell_.park(seen, period * 250'000);
          if (dismissed_.load(std::memory_order_seq_cst)) return;
          look(self);
        }
      }) {}

HYPERPARALLEL_BODY watchdog::~watchdog() {
  dismissed_.store(true, std::memory_order_seq_cst);
  bell_.ring();
  thread_.join();
}

}}  // namespace hyperparallel::v0_2
