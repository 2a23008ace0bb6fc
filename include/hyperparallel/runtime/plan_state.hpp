// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plan in the middle of a run: its words, queues and workers, how one worker tells another, and how a run ends early.
//
// Law: what tasks touch and more than one thread writes is the words alone; the wish to stop sits on a line that is
// written once a run. A publication with a listener on another worker is followed by a look at that worker's doorbell.
// The fence that this needs between the two is the waiter's, where the system has such fences and waiters seldom sleep;
// else the publication is a sequentially consistent exchange.

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include <hyperparallel/runtime/asymmetric_fence.hpp>
#include <hyperparallel/runtime/bound_plan.hpp>
#include <hyperparallel/runtime/execution.hpp>
#include <hyperparallel/runtime/kernel.hpp>
#include <hyperparallel/runtime/parking.hpp>
#include <hyperparallel/runtime/sync_words.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// A queue's place in the plan. Its worker writes, others look at `next` alone.
struct alignas(cache_line) queue_state {
  std::atomic<int> next{0};  ///< the head's record
  int end = 0;
  int wait = 0;  ///< first wait of the head that is not known to hold
  int reader = 0, signal = 0;
};

struct alignas(cache_line) worker_state {
  std::vector<int> queue;  ///< the queues it serves
  std::vector<int> live;   ///< those that have a task left
  doorbell bell;
  alignas(cache_line) std::atomic<int> current{-1};  ///< the queue whose task it runs
};

class plan_state {
 public:
  /// `worker_of[q]` serves queue q. What `p` points at must outlive the object.
  plan_state(const plan_view& p, const std::vector<int>& worker_of, int workers);

  bound_kernel& kernel_of(int index) { return kernel_[at(index)]; }
  run_ending& ending() { return ending_; }

  /// The head of a queue: a record, or one past the last. Any thread; exact after a run.
  int head(int queue) const { return queue_[at(queue)].next.load(std::memory_order_relaxed); }
  /// The queue whose task `worker` runs, or -1. Any thread.
  int current(int worker) const { return worker_[at(worker)].current.load(std::memory_order_relaxed); }

  /// Tasks that have ended in the current or last run. Any thread. O(queues).
  std::int64_t finished() const;

  /// How many runs have begun, modulo 2^32. Any thread.
  std::uint32_t runs_begun() const { return runs_begun_.load(std::memory_order_relaxed); }

  /// `generation` is the number of the next run. Domain: not during a run.
  void number_runs_from(std::uint32_t generation);

  /// After every worker has left. A run that was broken off leaves counters short.
  void end(bool complete);

  void stop(run_end why) noexcept {
    if (ending_.claim(why)) ring_all();
  }

  /// The first failure of a run wins. Called inside a handler; only the winner writes, and the caller reads after the
  /// join.
  void fail(run_end why, int record) noexcept;

  void ring_all() noexcept {
    for (int w = 0; w < workers_; ++w) worker_[at(w)].bell.ring();
  }

 protected:
  void begin_run(bool waiters_fence);

  bool holds(const word_wait& w, std::memory_order order) const {
    return words_.reached(w.word, generation_, static_cast<std::uint32_t>(w.threshold), order);
  }

  /// Stores queue `q`'s progress word, for the queues in [reader, reader_end), who wait for this very position. Where
  /// sleepers fence for both, the store comes before anything else: somebody is waiting.
  void publish(int me, int q, std::uint32_t value, int reader, int reader_end) noexcept;

  /// The workers other than `me` that serve the queues in [reader, reader_end).
  std::uint64_t listeners(int me, int reader, int reader_end) const noexcept;

  /// Adds one to a counter.
  void raise(int me, int counter) noexcept;

  /// Low half: workers that are idle or done. High half: how often one has come back. An unchanged word over a look at
  /// all heads means that nobody ran a task meanwhile.
  static constexpr std::uint64_t left_idle = (1ULL << 32) - 1;

  /// Counts a worker as idle or done. The last one looks at every head and ends the run if none is ready.
  void go_idle();
  void come_back() { idle_.fetch_add(left_idle, std::memory_order_seq_cst); }

  const plan_view plan_;
  const int workers_;
  sync_words words_;
  std::unique_ptr<queue_state[]> queue_;
  std::unique_ptr<worker_state[]> worker_;
  std::vector<std::uint64_t> bit_;    ///< queue -> its worker's bit
  std::vector<bound_kernel> kernel_;  ///< by operation, from the plan's first one
  const bool has_fence_;
  std::uint32_t generation_ = 0;
  bool waiters_fence_ = false;

 private:
  void ring(std::uint64_t workers) noexcept {
    for (; workers != 0; workers &= workers - 1) worker_[at(__builtin_ctzll(workers))].bell.ring();
  }

  void rewind();

  std::atomic<std::uint32_t> runs_begun_{0};

 protected:
  alignas(cache_line) run_ending ending_;

 private:
  alignas(cache_line) std::atomic<std::uint64_t> idle_{0};
};

}}}  // namespace hyperparallel::v0_2::detail

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/runtime/plan_state.ipp>
#endif
