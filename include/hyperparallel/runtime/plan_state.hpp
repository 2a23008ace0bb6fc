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

namespace hyperparallel::detail {

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
  plan_state(const plan_view& p, const std::vector<int>& worker_of, int workers)
      : plan_(p),
        workers_(workers),
        words_(p.size.queues + p.size.counters),
        queue_(std::make_unique<queue_state[]>(at(p.size.queues))),
        worker_(std::make_unique<worker_state[]>(at(workers))),
        bit_(at(p.size.queues)),
        kernel_(at(p.operations)),
        has_fence_(workers > 1 && has_asymmetric_fence()) {
    std::vector<std::uint64_t> signallers(at(p.size.counters), 0);
    for (int q = 0; q < p.size.queues; ++q) {
      bit_[at(q)] = 1ULL << worker_of[at(q)];
      words_[q].period = static_cast<std::uint32_t>(p.queue_begin[q + 1] - p.queue_begin[q]);
      if (words_[q].period != 0) worker_[at(worker_of[at(q)])].queue.push_back(q);
      for (int r = p.queue_begin[q]; r < p.queue_begin[q + 1]; ++r)
        for (int k = signal_begin(p, r); k < p.record[r].signal_end; ++k)
          signallers[at(p.signal[k] - p.size.queues)] |= bit_[at(q)];
    }
    for (int w = 0; w < workers; ++w) worker_[at(w)].live.resize(worker_[at(w)].queue.size());
    for (int c = 0; c < p.size.counters; ++c) {
      sync_words::word& w = words_[p.size.queues + c];
      w.period = static_cast<std::uint32_t>(p.counter_total[c]);
      for (int i = p.listener_begin[c]; i < p.listener_begin[c + 1]; ++i) w.listeners |= bit_[at(p.listener[i])];
      w.is_private = w.listeners == signallers[at(c)] && (w.listeners & (w.listeners - 1)) == 0;
    }
    rewind();
  }

  bound_kernel& kernel_of(int index) { return kernel_[at(index)]; }
  run_ending& ending() { return ending_; }

  /// The head of a queue: a record, or one past the last. Any thread; exact after a run.
  int head(int queue) const { return queue_[at(queue)].next.load(std::memory_order_relaxed); }
  /// The queue whose task `worker` runs, or -1. Any thread.
  int current(int worker) const { return worker_[at(worker)].current.load(std::memory_order_relaxed); }

  /// Tasks that have ended in the current or last run. Any thread. O(queues).
  std::int64_t finished() const {
    std::int64_t sum = 0;
    for (int q = 0; q < plan_.size.queues; ++q) sum += head(q) - plan_.queue_begin[q];
    return sum;
  }

  /// How many runs have begun, modulo 2^32. Any thread.
  std::uint32_t runs_begun() const { return runs_begun_.load(std::memory_order_relaxed); }

  /// `generation` is the number of the next run. Domain: not during a run.
  void number_runs_from(std::uint32_t generation) {
    generation_ = generation;
    words_.level(generation);
  }

  /// After every worker has left. A run that was broken off leaves counters short.
  void end(bool complete) {
    ++generation_;
    if (!complete) words_.level(generation_);
  }

  void stop(run_end why) noexcept {
    if (ending_.claim(why)) ring_all();
  }

  /// The first failure of a run wins. Called inside a handler; only the winner writes, and the caller reads after the
  /// join.
  void fail(run_end why, int record) noexcept {
    if (!ending_.claim(why)) return;
    ending_.record = record;
    ending_.error = std::current_exception();
    ring_all();
  }

  void ring_all() noexcept {
    for (int w = 0; w < workers_; ++w) worker_[at(w)].bell.ring();
  }

 protected:
  void begin_run(bool waiters_fence) {
    waiters_fence_ = waiters_fence && has_fence_;
    rewind();
    idle_.store(0, std::memory_order_relaxed);
    runs_begun_.store(runs_begun() + 1, std::memory_order_relaxed);
    ending_.restart();
  }

  bool holds(const word_wait& w, std::memory_order order) const {
    return words_.reached(w.word, generation_, static_cast<std::uint32_t>(w.threshold), order);
  }

  /// Stores queue `q`'s progress word, for the queues in [reader, reader_end), who wait for this very position. Where
  /// sleepers fence for both, the store comes before anything else: somebody is waiting.
  void publish(int me, int q, std::uint32_t value, int reader, int reader_end) noexcept {
    std::atomic<std::uint32_t>& word = words_[q].value;
    if (waiters_fence_) {
      word.store(value, std::memory_order_release);
      light_fence();
      ring(listeners(me, reader, reader_end));
      return;
    }
    const std::uint64_t others = listeners(me, reader, reader_end);
    if (others == 0)
      word.store(value, std::memory_order_release);
    else
      word.exchange(value, std::memory_order_seq_cst);
    ring(others);
  }

  /// The workers other than `me` that serve the queues in [reader, reader_end).
  std::uint64_t listeners(int me, int reader, int reader_end) const noexcept {
    std::uint64_t workers = 0;
    for (; reader != reader_end; ++reader) workers |= bit_[at(plan_.reader[reader])];
    return workers & ~(1ULL << me);
  }

  /// Adds one to a counter.
  void raise(int me, int counter) noexcept {
    sync_words::word& w = words_[counter];
    if (w.is_private) {
      w.value.store(w.value.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      w.value.fetch_add(1, std::memory_order_seq_cst);
      ring(w.listeners & ~(1ULL << me));
    }
  }

  /// Low half: workers that are idle or done. High half: how often one has come back. An unchanged word over a look at
  /// all heads means that nobody ran a task meanwhile.
  static constexpr std::uint64_t left_idle = (1ULL << 32) - 1;

  /// Counts a worker as idle or done. The last one looks at every head and ends the run if none is ready.
  void go_idle() {
    const std::uint64_t now = idle_.fetch_add(1, std::memory_order_seq_cst) + 1;
    if (static_cast<int>(now & 0xffffffffU) != workers_) return;
    bool blocked = false;
    for (int q = 0; q < plan_.size.queues; ++q) {
      const int next = head(q);
      if (next == plan_.queue_begin[q + 1]) continue;
      int w = wait_begin(plan_, next);
      const int wait_end = plan_.record[next].wait_end;
      while (w < wait_end && holds(plan_.wait[w], std::memory_order_seq_cst)) ++w;
      if (w == wait_end) return;
      blocked = true;
    }
    if (blocked && idle_.load(std::memory_order_seq_cst) == now) stop(run_end::deadlocked);
  }
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

  void rewind() {
    for (int q = 0; q < plan_.size.queues; ++q) {
      queue_state& c = queue_[at(q)];
      const int first = plan_.queue_begin[q];
      c.next.store(first, std::memory_order_relaxed);
      c.end = plan_.queue_begin[q + 1];
      c.wait = wait_begin(plan_, first);
      c.reader = reader_begin(plan_, first);
      c.signal = signal_begin(plan_, first);
    }
  }

  std::atomic<std::uint32_t> runs_begun_{0};

 protected:
  alignas(cache_line) run_ending ending_;

 private:
  alignas(cache_line) std::atomic<std::uint64_t> idle_{0};
};

}  // namespace hyperparallel::detail
