// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pace of a queue of copies: real copies that take as long as a link of given bandwidth and latency would.
//
// A copy starts when its turn comes or when the one before it was due, whichever is later, and ends latency + bytes ÷
// bandwidth after that. What a late wake-up costs is made good by the next copy where that follows at once. The thread
// sleeps meanwhile; it belongs to the queue, see executor_options::copy_workers. Laws: no copy ends before it is due;
// a queue without a link's rate only copies. Units: picoseconds.

#include <cstdint>

#include <hyperparallel/exec/kernel.hpp>
#include <hyperparallel/exec/parking.hpp>
#include <hyperparallel/kernels/steady_time.hpp>
#include <hyperparallel/offload/offload_link.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// One queue's. Not for several threads at once.
class paced_queue {
 public:
  /// Lets `copy()` happen, and returns when a copy of `bytes` is due; sooner where the run is to end.
  template <class Copy>
  void carry(const offload_link& link, std::int64_t bytes, const kernel_call& call, const Copy& copy) {
    last(link_copy_time(link, bytes) / 1000, call, copy);
  }
  /// The same of any work that is to last so many nanoseconds.
  template <class Work>
  void last(std::int64_t nanoseconds, const kernel_call& call, const Work& work) {
    const std::int64_t now = detail::steady_nanoseconds();
    // A queue that is late by less than a wake-up takes did not stand still.
    const std::int64_t start = now - due_ < most_late ? due_ : now;
    work();
    due_ = start + nanoseconds;
    for (std::int64_t t = detail::steady_nanoseconds(); t < due_; t = detail::steady_nanoseconds()) {
      if (call.stopping()) return;
      detail::sleep_until(due_ - t < slice ? due_ : t + slice);
    }
  }

 private:
  static constexpr std::int64_t most_late = 500'000, slice = 20'000'000;  // nanoseconds

  std::int64_t due_ = 0;
};

}}  // namespace hyperparallel::v0_2
