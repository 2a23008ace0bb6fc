// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which cores this process may use, and binding a thread to one of them.
//
// Two workers that the system wakes on the same core run 10 to 100 times slower than pinned ones, hence workers are
// pinned when there is a core for each. Law: a scoped pin gives the thread its former cores back on every way out.

#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace hyperparallel {

/// The cores that the process may run on, ascending. Empty where the system does not tell.
inline std::vector<int> allowed_cores() {
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

/// How many threads can run at the same time; at least 1.
inline int allowed_core_count(const std::vector<int>& cores) {
  if (!cores.empty()) return static_cast<int>(cores.size());
  const int n = static_cast<int>(std::thread::hardware_concurrency());
  return n > 0 ? n : 1;
}

/// Binds the calling thread to `core` while the object lives. A negative core, or a refusal, leaves the thread as it
/// was.
class scoped_pin {
 public:
  explicit scoped_pin([[maybe_unused]] int core) noexcept {
#if defined(__linux__)
    if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof former_, &former_) != 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(core), &set);
    pinned_ = sched_setaffinity(0, sizeof set, &set) == 0;
#endif
  }
  scoped_pin(const scoped_pin&) = delete;
  scoped_pin& operator=(const scoped_pin&) = delete;
  ~scoped_pin() {
#if defined(__linux__)
    if (pinned_) sched_setaffinity(0, sizeof former_, &former_);
#endif
  }

  bool pinned() const { return pinned_; }

 private:
#if defined(__linux__)
  cpu_set_t former_{};
#endif
  bool pinned_ = false;
};

}  // namespace hyperparallel
