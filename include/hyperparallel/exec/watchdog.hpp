// SPDX-License-Identifier: Apache-2.0
#pragma once
// A thread of its own that looks now and then, for workers that are all inside kernels cannot look themselves.
//
// Law: `look` is called about four times in each `period`, by one thread, from construction to destruction; it must not
// let an exception out.

#include <atomic>
#include <cstdint>
#include <thread>

#include <hyperparallel/exec/parking.hpp>

namespace hyperparallel { inline namespace v0_2 {

class watchdog {
 public:
  /// `period` in milliseconds, positive. Throws std::system_error when the thread cannot be started.
  watchdog(std::int64_t period, void (*look)(void* self), void* self);
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;
  ~watchdog();

 private:
  doorbell bell_;
  std::atomic<bool> dismissed_{false};
  std::thread thread_;  ///< last: it uses the others
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/exec/watchdog.ipp>
#endif
