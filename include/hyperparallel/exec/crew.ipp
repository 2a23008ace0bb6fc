// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of crew.hpp; see support/compiled.hpp.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include <hyperparallel/exec/crew.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY crew::crew(int workers, std::vector<int> cores, int spin, work_function work, void* self)
    : workers_(workers),
      spin_(spin),
      work_(work),
      self_(self),
      cores_(std::move(cores)),
      bell_(detail::make_owned_array<doorbell>(static_cast<std::size_t>(workers))) {
  try {
    thread_.reserve(static_cast<std::size_t>(workers));
    for (int w = 1; w < workers; ++w) thread_.emplace_back(&crew::live, this, w);
  } catch (...) {
    dismiss();
    throw;
  }
}

HYPERPARALLEL_BODY void crew::live(int worker) {
  const scoped_pin pin(core_of(worker));
  std::uint32_t seen = 0;
  for (;;) {
    await(bell_[static_cast<std::size_t>(worker)], -1, [&] { return run_.load(std::memory_order_seq_cst) != seen; });
    ++seen;
    if (dismissed_.load(std::memory_order_relaxed)) return;
    work_(self_, worker);
    done_.fetch_add(1, std::memory_order_seq_cst);
    bell_[0].ring();
  }
}

HYPERPARALLEL_BODY void crew::dismiss() {
  dismissed_.store(true, std::memory_order_relaxed);
  run_.fetch_add(1, std::memory_order_seq_cst);
  for (int w = 1; w < workers_; ++w) bell_[static_cast<std::size_t>(w)].ring();
  for (std::thread& t : thread_) t.join();
  thread_.clear();
}

}}  // namespace hyperparallel::v0_2
