// SPDX-License-Identifier: Apache-2.0
#pragma once
// A gate at which threads sleep until another thread announces a change, and which notices that none can come.
//
//   gate.open(threads);                     before the threads begin
//   gate.wait(may_go_on, something_can)     on a thread: back when its condition holds, or all stop
//   gate.announce();                        after each change that a condition reads, by seq_cst stores
//   gate.leave(something_can);              at the end of a thread
//
// Laws: no thread sleeps through a change that is announced. Where all threads that are left wait and `something_can` is
// false, all stop, and `stands_still` is true. Announcing costs one load while no thread sleeps.

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class firing_gate {
 public:
  void open(int threads) {
    stops_ = stands_still_ = false;
    active_ = threads;
  }
  bool stops() const { return stops_.load(); }
  bool stands_still() const { return stands_still_; }

  void stop() {
    stops_ = true;
    const std::lock_guard lock(lock_);
    changed_.notify_all();
  }
  void announce() {
    if (waiting_.load() == 0) return;
    const std::lock_guard lock(lock_);
    changed_.notify_all();
  }
  template <class MayGoOn, class SomethingCan>
  void wait(const MayGoOn& may_go_on, const SomethingCan& something_can) {
    for (int tries = 0; tries < 64; ++tries)
      if (stops() || may_go_on()) return;
    std::unique_lock lock(lock_);
    ++waiting_;
    while (!stops() && !may_go_on()) {
      look_for_standstill(something_can);
      if (stops()) break;
      changed_.wait(lock);
    }
    --waiting_;
  }
  template <class SomethingCan>
  void leave(const SomethingCan& something_can) {
    const std::lock_guard lock(lock_);
    --active_;
    look_for_standstill(something_can);
  }

 private:
  template <class SomethingCan>
  void look_for_standstill(const SomethingCan& something_can) {
    if (active_ == 0 || waiting_.load() < active_ || stops() || something_can()) return;
    stops_ = stands_still_ = true;
    changed_.notify_all();
  }

  std::mutex lock_;
  std::condition_variable changed_;
  std::atomic<int> waiting_{0};
  std::atomic<bool> stops_{false};
  int active_ = 0;
  bool stands_still_ = false;
};

}}}  // namespace hyperparallel::v0_2::detail
