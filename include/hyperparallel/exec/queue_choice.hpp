// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which queue a worker takes next.
//
// First those that favour it, the head with the earliest planned start first; when they are all blocked, one that its own
// last task made ready, so that queues which only alternate stay on one core; at last, as one that looks for work, what
// others leave lying. A queue favours whoever ran it last.

#include <atomic>
#include <climits>
#include <cstdint>

#include <hyperparallel/exec/plan_state.hpp>
#include <hyperparallel/exec/worker_share.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class queue_choice : public plan_state {
 public:
  queue_choice(const plan_view& p, const worker_share& share)
      : plan_state(p, share.worker_of, share.workers, share.sharing, share.spin > 0),
        slack_(static_cast<int>(most_ahead >> p.time_shift)) {}

 protected:
  /// Pauses for which a queue of another worker must have been ready: its own worker may be about to take it.
  static constexpr int grace = 4;

  /// Runs in a row of one task, after which a worker expects that the next is blocked again.
  static constexpr int turns = 2;

  /// The queues that favour a worker, at the beginning of its part of a run.
  void find_own(int me) {
    worker_state& w = worker_[at(me)];
    w.owned = 0;
    for (int q = 0; q < plan_.size.queues; ++q)
      if (queue_[at(q)].favours.load(std::memory_order_relaxed) == me) w.own[at(w.owned++)] = q;
  }

  /// Takes the queue of its own with the earliest head that is ready, or returns -1. `due`: when another one is.
  int take_own(int me, int& due) {
    worker_state& w = worker_[at(me)];
    int best = -1, start = INT_MAX, other = INT_MAX;
    for (int i = 0; i < w.owned; ++i) {
      const int q = w.own[at(i)];
      const queue_state& c = queue_[at(q)];
      if (c.favours.load(std::memory_order_relaxed) != me || head(q) == c.end) {
        for (int k = i--, last = --w.owned; k < last; ++k) w.own[at(k)] = w.own[at(k + 1)];
        continue;
      }
      const int s = start_of(q);
      if ((best >= 0 && s >= start) || !is_waiting_for_a_worker(q, std::memory_order_acquire)) {
        other = s < other ? s : other;
        continue;
      }
      if (best >= 0) other = start < other ? start : other;
      best = q;
      start = s;
    }
    if (best < 0 || !take(me, best)) return -1;
    due = w.owned == 1 ? INT_MAX : slack_ + (other > start && other != INT_MAX ? other : start);
    return best;
  }

  /// A queue that this worker kept for itself, or -1 if its head is not ready after all.
  int use_kept(int me, int q) {
    if (is_ready(q, std::memory_order_acquire)) return adopt(me, q);
    release(me, q);
    return -1;
  }

  /// Takes a queue that the worker's last task made ready, or returns -1.
  int take_released(int me) {
    worker_state& w = worker_[at(me)];
    for (; w.reader != w.reader_end; ++w.reader) {
      const int q = plan_.reader[w.reader];
      if (may_serve(me, q) && is_waiting_for_a_worker(q, std::memory_order_acquire) && take(me, q)) return adopt(me, q);
    }
    return -1;
  }

  /// Takes a queue that favours another worker and waits all the same, or returns -1.
  int take_foreign(int me) {
    for (int q = 0; q < plan_.size.queues; ++q) {
      if (!may_serve(me, q) || !is_waiting_for_a_worker(q, std::memory_order_acquire)) continue;
      const int next = head(q);
      const bool mine = queue_[at(q)].favours.load(std::memory_order_relaxed) == me;
      for (int i = 0; i < grace && !mine; ++i) spin_pause();
      if (head(q) == next && is_waiting_for_a_worker(q, std::memory_order_acquire) && take(me, q)) return adopt(me, q);
    }
    return -1;
  }

  /// A queue that this worker holds favours it from now on.
  int adopt(int me, int q) {
    worker_state& w = worker_[at(me)];
    queue_[at(q)].favours.store(me, std::memory_order_relaxed);
    for (int i = 0; i < w.owned; ++i)
      if (w.own[at(i)] == q) return q;
    w.own[at(w.owned++)] = q;
    return q;
  }

  /// Before the end of a task is published: where the queue will be blocked, as it was after the last tasks, and one
  /// queue alone waits for this task, that queue is taken before anybody else can see that it is ready; else -1.
  int keep_reader(int me, int q, int next, int reader, int reader_end) {
    if (reader + 1 != reader_end || next + 1 == queue_[at(q)].end || waits_hold(next + 1, std::memory_order_acquire))
      return -1;
    const int r = plan_.reader[reader];
    const bool open = queue_[at(r)].holder.load(std::memory_order_relaxed) == queue_state::open;
    return open && may_serve(me, r) && take(me, r) ? r : -1;
  }

  bool any_ready(int me, std::memory_order order) const {
    for (int q = 0; q < plan_.size.queues; ++q)
      if (may_serve(me, q) && is_waiting_for_a_worker(q, order)) return true;
    return false;
  }

 private:
  /// Planned time by which a queue may run ahead of another one of its worker: to change queues costs some tens of
  /// nanoseconds, so the order of shorter tasks matters less.
  static constexpr std::int64_t most_ahead = 500'000;  // picoseconds

  /// Planned start of the head of a queue.
  int start_of(int q) const {
    const int next = head(q);
    return next == queue_[at(q)].end ? INT_MAX : plan_.record[next].start;
  }

  const int slack_;  ///< `most_ahead` in the plan's units
};

}}}  // namespace hyperparallel::v0_2::detail
