// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pace of a queue of copies: real copies that take as long as a link of given bandwidth and latency would.
//
// A copy starts when its turn comes or when the one before it was due, whichever is later, and ends latency + bytes ÷
// bandwidth after that. What a late wake-up costs is made good by the next copy where that follows at once. The thread
// sleeps meanwhile; it belongs to the queue, see executor_options::copy_workers. Laws: no copy ends before it is due;
// a queue without a link's rate only copies. Units: picoseconds.

#include <chrono>
#include <cstdint>
#include <thread>

#include <hyperparallel/offload/offload_link.hpp>
#include <hyperparallel/runtime/kernel.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// One queue's. Not for several threads at once.
class paced_queue {
 public:
  using clock = std::chrono::steady_clock;

  /// Lets `copy()` happen, and returns when a copy of `bytes` is due; sooner where the run is to end.
  template <class Copy>
  void carry(const offload_link& link, std::int64_t bytes, const kernel_call& call, const Copy& copy) {
    const clock::time_point now = clock::now();
    // A queue that is late by less than a wake-up takes did not stand still.
    const clock::time_point start = now - due_ < most_late ? due_ : now;
    copy();
    due_ = start + std::chrono::nanoseconds(link_copy_time(link, bytes) / 1000);
    for (clock::time_point t = clock::now(); t < due_; t = clock::now()) {
      if (call.stopping()) return;
      std::this_thread::sleep_until(due_ - t < slice ? due_ : t + slice);
    }
  }

 private:
  static constexpr std::chrono::nanoseconds most_late = std::chrono::microseconds(500);
  static constexpr std::chrono::nanoseconds slice = std::chrono::milliseconds(20);

  clock::time_point due_{};
};

}}  // namespace hyperparallel::v0_2
