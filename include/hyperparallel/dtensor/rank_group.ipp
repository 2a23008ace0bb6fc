// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of rank_group.hpp; see support/compiled.hpp.

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/rank_group.hpp>
#include <hyperparallel/exec/cores.hpp>
#include <hyperparallel/exec/crew.hpp>
#include <hyperparallel/exec/failure.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY rank_error::rank_error(int position_, const std::string& operation_, const std::string& cause)
    : std::runtime_error(operation_ + " failed at position " + std::to_string(position_) +
                         (cause.empty() ? std::string() : ": " + cause)),
      position(position_),
      operation(operation_) {}

struct rank_group::state {
  int ranks = 0;
  std::mutex turn;
  void (*call)(const void*, int) = nullptr;
  const void* work = nullptr;
  std::atomic<int> next{0};
  std::vector<std::exception_ptr> error;  ///< each entry is written by the worker that has its position
  std::unique_ptr<crew> workers;          ///< last: its threads leave before the rest is destroyed

  /// The group whose work this thread is in.
  static const void*& inside() {
    thread_local const void* group = nullptr;
    return group;
  }

  static void enter(void* self, int) {
    state& s = *static_cast<state*>(self);
    const void* const outer = std::exchange(inside(), &s);
    for (;;) {
      const int p = s.next.fetch_add(1, std::memory_order_relaxed);
      if (p >= s.ranks) break;
      try {
        s.call(s.work, p);
      } catch (...) {
        s.error[static_cast<std::size_t>(p)] = std::current_exception();
      }
    }
    inside() = outer;
  }
};

HYPERPARALLEL_BODY rank_group::rank_group(int ranks, const executor_options& options) : ranks_(ranks) {
  if (ranks < 1) throw std::invalid_argument("a rank group has at least one rank, not " + std::to_string(ranks));
  std::vector<int> cores = allowed_cores();
  const int available = allowed_core_count(cores);
  const int asked = options.threads > 0 ? options.threads : available;
  const int workers = asked < ranks ? asked : ranks;
  const bool roomy = workers <= available;
  if (!options.pin || !roomy || static_cast<int>(cores.size()) < workers) cores.clear();
  state_ = std::make_shared<state>();
  state_->ranks = ranks;
  state_->error.resize(static_cast<std::size_t>(ranks));
  state_->workers =
      std::make_unique<crew>(workers, std::move(cores), roomy ? options.spin : 0, &state::enter, state_.get());
}

HYPERPARALLEL_BODY int rank_group::threads() const { return state_->workers->workers(); }

HYPERPARALLEL_BODY void rank_group::run(const char* operation, void (*call)(const void*, int), const void* work) const {
  state& s = *state_;
  if (state::inside() == &s) {
    for (int p = 0; p < s.ranks; ++p) call(work, p);
    return;
  }
  const std::lock_guard<std::mutex> turn(s.turn);
  s.work = work;
  s.call = call;
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
    std::throw_with_nested(rank_error(failed, operation, detail::first_line(error)));
  }
}

}}  // namespace hyperparallel::v0_2
