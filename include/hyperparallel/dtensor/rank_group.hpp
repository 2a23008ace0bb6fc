// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ranks that tensors are spread over, and the threads that do their work.
//
// A rank group is a handle: copies are the same group. Laws: `for_each_rank` calls its work once for every position of
// the group, on as many threads as the group has, and returns when all have ended; where some throw, the error of the
// lowest position is thrown, so failures do not depend on the number of threads. Runs of one group take turns; a run
// asked for from inside its own work happens on the spot.

#include <memory>
#include <stdexcept>
#include <string>

#include <hyperparallel/exec/run_options.hpp>

namespace hyperparallel { inline namespace v0_2 {

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

  int ranks() const { return ranks_; }
  int threads() const;
  friend bool operator==(const rank_group& a, const rank_group& b) { return a.state_ == b.state_; }

  /// Calls `work(position)`; `operation` names the work in errors. Throws rank_error.
  template <class Work>
  void for_each_rank(const char* operation, const Work& work) const {
    run(operation, [](const void* w, int position) { (*static_cast<const Work*>(w))(position); }, &work);
  }

 private:
  struct state;

  void run(const char* operation, void (*call)(const void* work, int position), const void* work) const;

  int ranks_ = 0;
  std::shared_ptr<state> state_;
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/dtensor/rank_group.ipp>
#endif
