// SPDX-License-Identifier: Apache-2.0
#pragma once
// A worker on a slow core lends its queue to one that rests and is faster.
//
// Queues are frozen: their tasks run in the planned order. With as many queues as workers, the one whose worker has the
// slow core falls behind, the others wait for it, and a run takes as long as the slow core alone would. A worker
// therefore measures its pace: the time that its tasks took, by the time that was planned for them. Between two tasks,
// while another worker rests whose pace is better by a sixteenth, it lends the queue; what it takes next is up to
// queue_choice.hpp.
// Laws: a queue changes hands between two tasks only, and only while its head is ready; a run of tasks shorter than
// `least` (to a worker that sleeps: `least_of_sleeper`) asks no clock and lends nothing, since a hand-over costs some
// hundred nanoseconds, the waking of a sleeper some ten microseconds; where paces are alike no queue is lent.

#include <atomic>
#include <cstdint>

#include <hyperparallel/exec/queue_choice.hpp>
#include <hyperparallel/kernels/steady_time.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class queue_lending : public queue_choice {
 public:
  using queue_choice::queue_choice;

 protected:
  static constexpr std::int64_t least = 4'000, least_of_sleeper = 125'000;  // nanoseconds of a task

  /// Tasks of a queue that a worker runs in a row, as far as they have not been measured.
  struct stint {
    int first = 0;           ///< record
    std::int64_t begin = 0;  ///< of steady_nanoseconds(); 0: its tasks are short, it is not measured
  };

  stint begin_stint(int me, int first) const noexcept {
    return {first, workers_ > 1 && worker_[at(me)].core.tasks_last(least) ? steady_nanoseconds() : 0};
  }

  /// `me` has run the tasks of queue `q` up to record `next`.
  void measure(int me, int q, int next, stint& s) noexcept {
    if (s.begin == 0 || next == s.first) return;
    const std::int64_t now = steady_nanoseconds();
    note_stint(me, q, next - s.first, now - s.begin);
    s = {next, now};
  }

  /// Measures, and says to whom `me` is to lend queue `q`, or -1. One load where all work.
  int next_worker(int me, int q, int next, stint& s) noexcept {
    if (s.begin == 0 || !somebody_rests(me)) return -1;
    measure(me, q, next, s);
    return borrower(me, q);
  }

  /// The same by the time that passed. Domain: tasks > 0. A moving mean over some eight stints.
  void note_stint(int me, int q, int tasks, std::int64_t nanoseconds) noexcept {
    const auto records = static_cast<double>(plan_.queue_begin[q + 1] - plan_.queue_begin[q]);
    const double planned = static_cast<double>(plan_.use[q].load) / records * tasks;
    const auto now = static_cast<float>(static_cast<double>(nanoseconds) / planned);
    worker_[at(me)].task_time = nanoseconds / tasks;
    std::atomic<float>& pace = worker_[at(me)].pace;
    const float before = pace.load(std::memory_order_relaxed);
    pace.store(before == 0 ? now : before + (now - before) / 8, std::memory_order_relaxed);
  }

  /// The worker that `me` is to lend queue `q` to, or -1. O(workers) while others rest.
  int borrower(int me, int q) const noexcept {
    const std::uint64_t idle = resting_.load(std::memory_order_relaxed) & servers_[at(q)] & ~bit(me);
    const worker_state& mine = worker_[at(me)];
    if (idle == 0 || mine.task_time < least) return -1;
    const bool may_wake = mine.task_time >= least_of_sleeper;
    float best = mine.pace.load(std::memory_order_relaxed) * (15.0F / 16);
    int found = -1;
    for (std::uint64_t left = idle; left != 0; left &= left - 1) {
      const int w = __builtin_ctzll(left);
      const worker_state& other = worker_[at(w)];
      const float pace = other.pace.load(std::memory_order_relaxed);
      if (pace == 0 || pace >= best || other.lent.load(std::memory_order_relaxed) >= 0) continue;
      if (!may_wake && other.bell.parked.load(std::memory_order_relaxed) != 0) continue;
      best = pace;
      found = w;
    }
    return found;
  }

  /// Gives back queue `q`, which `me` holds: at its end, to all, or (`to` ≥ 0) to the worker from `borrower`.
  void give_back(int me, int q, bool ended, int to) noexcept {
    if (ended) return finish(me, q);
    if (to < 0) return release(me, q);
    int none = -1;
    if (worker_[at(to)].lent.compare_exchange_strong(none, q, std::memory_order_relaxed))
      queue_[at(q)].favours.store(to, std::memory_order_relaxed);
    release(me, q);
    worker_[at(to)].bell.ring();
  }

  /// Takes the queue that was lent to a worker at rest, or else one of its own, or returns -1.
  int take_lent_or_own(int me, int& due) {
    const int q = worker_[at(me)].lent.load(std::memory_order_relaxed);
    // The lender may still hold it for a moment.
    if (q < 0 || !is_waiting_for_a_worker(q, std::memory_order_acquire)) return take_own(me, due);
    forget_loan(me);
    return take(me, q) ? adopt(me, q) : -1;
  }

  /// Of the caller, who looks for work or sleeps. A queue that is lent to it too late waits like any other.
  void rest(int me) noexcept {
    forget_loan(me);
    queue_choice::rest(me);
  }
  void rise(int me) noexcept {
    queue_choice::rise(me);
    forget_loan(me);
  }

 private:
  void forget_loan(int me) noexcept { worker_[at(me)].lent.store(-1, std::memory_order_relaxed); }
};

}}}  // namespace hyperparallel::v0_2::detail
