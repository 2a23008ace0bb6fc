// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which cores this process may use, and binding a thread to one of them.
//
// Two workers that the system wakes on the same core run 10 to 100 times slower than pinned ones, hence workers are
// pinned when there is a core for each. Law: a scoped pin gives the thread its former cores back on every way out.

#include <span>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace hyperparallel { inline namespace v0_2 {

/// The cores that the process may run on, ascending. Empty where the system does not tell.
std::vector<int> allowed_cores();

/// How many threads can run at the same time; at least 1.
int allowed_core_count(const std::vector<int>& cores);

namespace detail {

/// Lets the calling thread run on all of `cores`, and on no other. None, or a refusal, leaves the thread as it was.
void move_freely(std::span<const int> cores) noexcept;

}  // namespace detail

#if defined(__linux__)
namespace detail {

/// Lets another thread run on `core` alone: it moves there at once. False: the system refuses. Domain: the thread has
/// not been joined.
bool move_thread(pthread_t thread, int core) noexcept;

}  // namespace detail
#endif

/// Lets the calling thread run on a core, or some cores, and on no other, while the object lives. A negative core, none,
/// or a refusal leaves the thread as it was.
class scoped_pin {
 public:
  explicit scoped_pin(int core) noexcept : scoped_pin(std::span<const int>(&core, 1)) {}
  explicit scoped_pin(std::span<const int> cores) noexcept;
  scoped_pin(const scoped_pin&) = delete;
  scoped_pin& operator=(const scoped_pin&) = delete;
  ~scoped_pin();

  bool pinned() const { return pinned_; }

 private:
#if defined(__linux__)
  cpu_set_t former_{};
#endif
  bool pinned_ = false;
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/exec/cores.ipp>
#endif
