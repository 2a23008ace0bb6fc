// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plan in the middle of a run: its words, queues and workers, how one worker tells another, and how a run ends early.
//
// Law: whoever runs a queue's tasks holds the queue; nobody holds one in which no task can begin, nor while it waits. So
// a worker whose thread has lost its core keeps at most the queue of the task that it is in, and others run the rest.
// A queue is favoured by the worker that ran it last, or whose home it is; others take it when they are idle.
//
// Law: what tasks touch and more than one thread writes is the words and the holders alone; the wish to stop sits on a
// line that is written once a run. A publication is followed by a look at who rests. The fence that this needs between
// the two is the sleeper's, where the system has such fences and workers seldom sleep; else the publication is a
// sequentially consistent exchange.
//
// Between runs all queues are closed. A worker other than the caller may come late to a run, or leave it when the next
// one has begun: what it looks at without holding a queue is atomic or constant, and it holds none that is closed.

#include <atomic>
#include <cstdint>
#include <exception>
#include <vector>

#include <hyperparallel/exec/asymmetric_fence.hpp>
#include <hyperparallel/exec/bound_plan.hpp>
#include <hyperparallel/exec/core_loss.hpp>
#include <hyperparallel/exec/execution.hpp>
#include <hyperparallel/exec/kernel.hpp>
#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/exec/parking.hpp>
#include <hyperparallel/exec/sync_words.hpp>
#include <hyperparallel/support/owned.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// A queue's place in the plan. Who holds it writes `next` and the plain members.
struct alignas(cache_line) queue_state {
  static constexpr int open = 0, closed = -1;

  std::atomic<int> holder{closed};  ///< 1 + the worker that runs it, `open`, or `closed` between runs
  std::atomic<int> next{0};         ///< the head's record
  std::atomic<int> favours{0};      ///< the worker that is to run it
  int end = 0;
  int wait = 0;  ///< first wait of the head that is not known to hold
  int reader = 0, signal = 0;
};

struct alignas(cache_line) worker_state {
  std::vector<int> own;  ///< queues that favour it, or did a moment ago; `owned` of them
  int owned = 0;
  int reader = 0, reader_end = 0;  ///< who waits for its last publication
  int turns = 0;                   ///< in a row, in each of which it ran one task and was blocked
  core_loss core;
  doorbell bell;
  std::int64_t task_time = 0;                        ///< nanoseconds, of its last tasks; 0: not known
  std::atomic<float> pace{0};                        ///< of its tasks: nanoseconds by planned time; 0: not known
  std::atomic<int> lent{-1};                         ///< a queue that another worker leaves to it while it rests
  alignas(cache_line) std::atomic<int> current{-1};  ///< the queue whose task it runs
};

class plan_state {
 public:
  /// `worker_of[q]` is where queue q is at home; the first `sharing` workers run each other's queues. `waiters_fence`:
  /// workers seldom sleep. What `p` points at must outlive the object.
  plan_state(const plan_view& p, const std::vector<int>& worker_of, int workers, int sharing, bool waiters_fence);

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

  /// Waits until no worker holds a queue, and lets nobody take one again. On worker 0, when its part has ended.
  void close() noexcept;

  /// After `close`. A run that was broken off leaves counters short.
  void end(bool complete);

  /// Whether the core of `worker` was found lost a short time ago. Any thread.
  bool has_lost_core(int worker) const { return (lost_.load(std::memory_order_relaxed) & bit(worker)) != 0; }

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
  static constexpr std::uint64_t bit(int worker) { return 1ULL << worker; }

  void begin_run();

  bool holds(const word_wait& w, std::memory_order order) const {
    return words_.reached(w.word, generation_.load(std::memory_order_relaxed), static_cast<std::uint32_t>(w.threshold),
                          order);
  }

  bool waits_hold(int record, std::memory_order order) const noexcept {
    int w = wait_begin(plan_, record);
    const int wait_end = plan_.record[record].wait_end;
    while (w != wait_end && holds(plan_.wait[w], order)) ++w;
    return w == wait_end;
  }
  /// Whether all waits of a queue's head hold. False for a queue that has ended.
  bool is_ready(int q, std::memory_order order) const noexcept {
    const int next = head(q);
    return next != queue_[at(q)].end && waits_hold(next, order);
  }
  /// The same, and nobody holds it.
  bool is_waiting_for_a_worker(int q, std::memory_order order) const noexcept {
    return queue_[at(q)].holder.load(order) == queue_state::open && is_ready(q, order);
  }
  bool may_serve(int me, int q) const { return (servers_[at(q)] & bit(me)) != 0; }

  /// No task will begin any more.
  bool is_over(std::memory_order order) const noexcept {
    return unfinished_.load(order) == 0 || !ending_.running(order);
  }

  /// False when another worker holds the queue, or the run is over.
  bool take(int me, int q) noexcept {
    int open = queue_state::open;
    return queue_[at(q)].holder.compare_exchange_strong(open, me + 1, std::memory_order_seq_cst,
                                                        std::memory_order_relaxed);
  }
  /// Where somebody rests, the store comes before the caller's next look at what is ready.
  void release(int me, int q) noexcept {
    const bool watched = !waiters_fence_ || somebody_rests(me);
    queue_[at(q)].holder.store(queue_state::open, watched ? std::memory_order_seq_cst : std::memory_order_release);
  }
  /// The last task of a queue that this worker holds has ended.
  void finish(int me, int q) noexcept;

  bool somebody_rests(int me) const noexcept { return (resting_.load(std::memory_order_relaxed) & ~bit(me)) != 0; }

  /// Stores queue `q`'s progress word. Somebody waits for this very position. Where sleepers fence for both, the store
  /// comes before anything else. Returns whether somebody rests who is to be told what can begin; not if the caller
  /// goes on with it itself.
  bool publish(int me, int q, std::uint32_t value, bool goes_on) noexcept;

  /// Adds one to a counter.
  void raise(int me, int counter) noexcept;

  /// Wakes a worker for a queue that waits for one, unless somebody is looking for work.
  void wake_for(int me, int q) noexcept;
  /// The same for each queue in [reader, reader_end).
  void offer_readers(int me, int reader, int reader_end) noexcept;
  /// The same for all.
  void offer_all(int me) noexcept;
  /// The same for all that this worker may not run itself: before it sleeps.
  void offer_closed_to(int me) noexcept;

  /// Of the caller, who looks for work or sleeps.
  void rest(int me) noexcept { resting_.fetch_or(bit(me), std::memory_order_seq_cst); }
  void rise(int me) noexcept { resting_.fetch_and(~bit(me), std::memory_order_seq_cst); }

  /// Notes whether this worker's core was found lost.
  void note_core(int me, bool lost) noexcept {
    if (lost != has_lost_core(me)) lost_.fetch_xor(bit(me), std::memory_order_relaxed);
  }

  /// Gives the queues that favour this worker to one that rests and has its core. False when there is none.
  bool hand_over(int me) noexcept;

  /// Nobody runs a task and no head is ready: the run is ended. Called by whoever goes to sleep; the last one sees it.
  void end_deadlock(int me) noexcept;

  const plan_view plan_;
  const int workers_;
  sync_words words_;
  detail::owned<queue_state[]> queue_;
  detail::owned<worker_state[]> worker_;
  std::vector<int> home_;                      ///< queue -> worker
  std::vector<std::uint64_t> servers_;         ///< queue -> the workers that may run it
  detail::light_vector<bound_kernel> kernel_;  ///< by operation, from the plan's first one
  const bool waiters_fence_;
  std::atomic<std::uint32_t> generation_{0};

 private:
  void rewind();

  std::atomic<std::uint32_t> runs_begun_{0};

 protected:
  alignas(cache_line) run_ending ending_;
  std::atomic<int> unfinished_{0};  ///< queues with a task left

  alignas(cache_line) std::atomic<std::uint64_t> resting_{0};  ///< workers that look for work, or sleep
  std::atomic<std::uint64_t> lost_{0};                         ///< workers whose core was found lost
};

}}}  // namespace hyperparallel::v0_2::detail

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/exec/plan_state.ipp>
#endif
