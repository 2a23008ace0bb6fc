// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ranks that tensors are spread over, and the threads that do their work.
//
// A rank group is a handle: copies are the same group. Laws: `for_each_rank` calls its work once for every position of
// the group, on as many threads as the group has, and returns when all have ended; where some throw, the error of the
// lowest position is thrown, so failures do not depend on the number of threads. Runs of one group take turns; a run
// asked for from inside its own work happens on the spot.

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/runtime/cores.hpp>
#include <hyperparallel/runtime/crew.hpp>
#include <hyperparallel/runtime/execution.hpp>
#include <hyperparallel/runtime/failure.hpp>

namespace hyperparallel {

/// The work of one position threw; the original is nested in it (std::rethrow_if_nested).
struct rank_error : std::runtime_error {
  int position;
  std::string operation;

  rank_error(int position_, const std::string& operation_, const std::string& cause);
};

class rank_group {
 public:
  /// Of `options` names are not used. Throws std::invalid_argument for less than one rank, std::system_error when a
  /// thread cannot be started.
  explicit rank_group(int ranks, const executor_options& options = {});

  int ranks() const { return state_->ranks; }
  int threads() const { return state_->workers->workers(); }
  friend bool operator==(const rank_group& a, const rank_group& b) { return a.state_ == b.state_; }

  /// Calls `work(position)`; `operation` names the work in errors. Throws rank_error.
  template <class Work>
  void for_each_rank(const char* operation, const Work& work) const {
    state& s = *state_;
    if (inside() == &s) {
      for (int p = 0; p < s.ranks; ++p) work(p);
      return;
    }
    const std::lock_guard<std::mutex> turn(s.turn);
    s.work = &work;
    s.call = [](const void* w, int position) { (*static_cast<const Work*>(w))(position); };
    s.next.store(0, std::memory_order_relaxed);
    s.workers->run(-1, []() noexcept {});
    int failed = -1;
    for (int p = s.ranks - 1; p >= 0; --p)
      if (s.error[static_cast<std::size_t>(p)] != nullptr) failed = p;
    if (failed < 0) return;
    const std::exception_ptr error = s.error[static_cast<std::size_t>(failed)];
    for (std::exception_ptr& e : s.error) e = nullptr;
    try {
      std::rethrow_exception(error);
    } catch (...) {
      std::throw_with_nested(rank_error(failed, operation, first_line(error)));
    }
  }

 private:
  struct state {
    int ranks = 0;
    std::mutex turn;
    void (*call)(const void*, int) = nullptr;
    const void* work = nullptr;
    std::atomic<int> next{0};
    std::vector<std::exception_ptr> error;  ///< each entry is written by the worker that has its position
    std::unique_ptr<crew> workers;          ///< last: its threads leave before the rest is destroyed
  };

  /// The group whose work this thread is in.
  static const void*& inside();

  static void enter(void* self, int);

  std::shared_ptr<state> state_;
};

}  // namespace hyperparallel

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/runtime/dtensor/rank_group.ipp>
#endif
