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

#include <hyperparallel/runtime/dtensor/rank_group.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel {

HYPERPARALLEL_BODY rank_error::rank_error(int position_, const std::string& operation_, const std::string& cause)
    : std::runtime_error(operation_ + " failed at position " + std::to_string(position_) +
                         (cause.empty() ? std::string() : ": " + cause)),
      position(position_),
      operation(operation_) {}

HYPERPARALLEL_BODY rank_group::rank_group(int ranks, const executor_options& options) {
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
      std::make_unique<crew>(workers, std::move(cores), roomy ? options.spin : 0, &rank_group::enter, state_.get());
}

HYPERPARALLEL_BODY const void*& rank_group::inside() {
  thread_local const void* group = nullptr;
  return group;
}

HYPERPARALLEL_BODY void rank_group::enter(void* self, int) {
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

}  // namespace hyperparallel
