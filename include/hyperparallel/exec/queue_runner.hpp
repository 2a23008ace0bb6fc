// SPDX-License-Identifier: Apache-2.0
#pragma once
// The inner loop of the executor: each worker takes a queue, runs its tasks in order as far as their waits hold, and
// gives it back.
//
// Which queue that is says queue_choice.hpp, and when one is left to a faster worker queue_lending.hpp. Where there is
// none a worker looks for one: at its own queues all the time, at those of others ever more seldom the longer it finds
// nothing; then it sleeps on its own doorbell. A worker that finds that its thread lost its core hands its queues over
// to one that rests (core_loss.hpp), and while it stands still in a task, who waits lends it a core (lent_core.hpp). If
// no task is running and no head is ready, nothing can ever change, and the run ends as a deadlock.

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <hyperparallel/exec/cores.hpp>
#include <hyperparallel/exec/lent_core.hpp>
#include <hyperparallel/exec/profile.hpp>
#include <hyperparallel/exec/queue_lending.hpp>
#include <hyperparallel/exec/worker_share.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Called by worker 0 between tasks; decides itself whether it is time.
struct run_watcher {
  void (*look)(void* self) noexcept = nullptr;
  void* self = nullptr;
  std::int64_t period = -1;  ///< nanoseconds
};

template <class Profile>
class queue_runner : public queue_lending {
 public:
  queue_runner(const plan_view& p, const worker_share& share)
      : queue_lending(p, share),
        spin_(share.workers > 1 ? share.spin : 0),
        sharing_(share.sharing),
        has_others_(share.sharing < share.workers),
        cores_(share.cores),
        lent_(share.cores, share.workers),
        core_of_caller_(lent_.core_of(0)) {
    if constexpr (Profile::enabled) profile_.size_for(p.size.tasks);
  }

  const Profile& profile() const { return profile_; }

  /// On worker 0, before it begins. Returns the cores that it may run on; none: as it is.
  std::span<const int> begin(const run_watcher& watcher) {
    watcher_ = watcher;
    if constexpr (Profile::enabled) profile_.restart();
    begin_run();
    lent_.enter(0);
    lent_.open();
    if (cores_.empty() || has_lost_core(0)) return cores_;
    core_of_caller_ = lent_.core_of(0);
    return {&core_of_caller_, 1};
  }

  /// One worker's part of a run; returns when no task will begin any more.
  void work(int me) {
    worker_state& w = worker_[at(me)];
    if (me != 0) lent_.enter(me);
    find_own(me);
    w.core.restart();
    int kept = -1;
    while (!is_over(std::memory_order_relaxed)) {
      int due = INT_MAX, q = kept >= 0 ? use_kept(me, kept) : take_own(me, due);
      if (q < 0) q = take_released(me);
      if (q < 0) q = await_queue(me, due);
      if (q < 0) {
        kept = -1;
        break;
      }
      if (q != kept && somebody_rests(me)) offer_all(me);
      kept = advance(me, q, due);
    }
    if (kept >= 0) release(me, kept);
    w.core.end();
    if (me == 0) lent_.close();
    choose_core(me, false, true);
  }

 private:
  /// Looks without a pause in between, which may take longer than a hand-off.
  static constexpr int eager_looks = 256;

  /// Between looks at queues of others, in pauses: an eighth of the time that has passed, within these.
  static constexpr int least_between = 8, most_between = 256;
  static constexpr int between_sights = 128;  ///< pauses between looks at who stands still: some 10 microseconds

  /// Runs the tasks at the head of a queue until one is blocked or planned later than `due`, and gives the queue back.
  /// Returns a queue that it kept to go on with, or -1.
  int advance(int me, int q, int due) {
    queue_state& c = queue_[at(q)];
    worker_state& w = worker_[at(me)];
    const execution_record* const record = plan_.record;
    const bound_kernel* const kernels = kernel_.data();
    const int first_operation = plan_.first_operation, end = c.end;
    const std::uint32_t base = generation_.load(std::memory_order_relaxed) * words_[q].period + 1U -
                               static_cast<std::uint32_t>(plan_.queue_begin[q]);
    const bool watched = me == 0 && watcher_.look != nullptr;
    int next = c.next.load(std::memory_order_relaxed), wait = c.wait, reader = c.reader, signal = c.signal;
    int kept = -1, lent_to = -1, offered = reader;  // readers before have been offered to those who rest
    const int first = next;
    stint unmeasured = begin_stint(me, first);
    w.reader = w.reader_end = 0;
    w.current.store(q, std::memory_order_relaxed);
    try {
      while (next != end && ending_.running(std::memory_order_relaxed)) {
        const execution_record& r = record[next];
        while (wait != r.wait_end && holds(plan_.wait[wait], std::memory_order_acquire)) ++wait;
        if (wait != r.wait_end) {
          if constexpr (Profile::enabled) profile_.blocked(r.task);
          break;
        }
        if (r.start > due) break;
        if (next != first && (lent_to = next_worker(me, q, next, unmeasured)) >= 0) break;
        kept = let_go(me, kept, true);
        if (offered != reader) {
          offer_readers(me, offered, reader);
          offered = reader;
        }
        run_kernel(me, r, kernels[r.kernel], r.kernel + first_operation);
        if (reader != r.reader_end) {
          w.reader = reader;
          w.reader_end = reader = r.reader_end;
          if (w.turns >= turns) kept = keep_reader(me, q, next, w.reader, reader);
          if (!publish(me, q, base + static_cast<std::uint32_t>(next), kept >= 0)) offered = reader;
        }
        for (; signal != r.signal_end; ++signal) raise(me, plan_.signal[signal]);
        if constexpr (Profile::enabled) profile_.signalled(r.task);
        c.next.store(++next, std::memory_order_relaxed);
        if (watched) watcher_.look(watcher_.self);
        if (w.core.due() && look_at_core(me)) {
          kept = let_go(me, kept, false);
          break;
        }
      }
    } catch (...) {
      fail(run_end::task_failed, next);
    }
    w.current.store(-1, std::memory_order_relaxed);
    c.wait = wait;
    c.reader = reader;
    c.signal = signal;
    w.turns = next == first + 1 ? w.turns + 1 : 0;
    measure(me, q, next, unmeasured);
    give_back(me, q, next == end && first != end, lent_to);  // another may have ended it before it was taken
    if (!ending_.running(std::memory_order_seq_cst)) worker_[0].bell.ring();
    if (kept >= 0 && next != end) wake_for(me, q);  // who made it ready a moment ago saw it held
    return kept;
  }

  void run_kernel(int me, const execution_record& r, const bound_kernel& k, int operation) {
    if constexpr (Profile::enabled) profile_.began(r.task, me);
    k.run({r.rank, r.task, operation, r.item, k.user, &ending_});
    if constexpr (Profile::enabled) profile_.ended(r.task);
  }

  /// Gives back a queue that was kept, if there is one, and wakes who may run it. Returns -1.
  int let_go(int me, int kept, bool wakes) {
    if (kept < 0) return -1;
    release(me, kept);
    if (wakes) wake_for(me, kept);
    return -1;
  }

  /// Whether the worker's queues were handed over, since its core is lost.
  bool look_at_core(int me) {
    worker_state& w = worker_[at(me)];
    const bool missing = w.core.look();
    choose_core(me, missing);
    if (!missing || workers_ == 1 || !hand_over(me)) return false;
    w.reader = w.reader_end;  // what they made ready goes with them
    return true;
  }

  /// A thread that has lost its core may run on all; the others are bound to theirs. The caller of a run is bound by
  /// the crew, before its first task or not at all. A worker of a copy engine sleeps in its tasks: that is no loss.
  /// One that misses a part again has perhaps been bound since, to a core that it exchanged.
  void choose_core(int me, bool missing = false, bool leaving = false) {
    const bool lost = worker_[at(me)].core.lost();
    if (me >= sharing_ || (lost == has_lost_core(me) && !missing) || (me == 0 && !lost && !leaving)) return;
    note_core(me, lost);
    if (at(me) >= cores_.size()) return;
    if (lost)
      move_freely(cores_);
    else if (me != 0)
      lent_.bind(me);
  }

  /// Looks for a queue to take, then sleeps, until there is one. -1 when the run is over.
  int await_queue(int me, int& due) {
    if (has_others_ && somebody_rests(me)) offer_closed_to(me);
    int q = -1;
    for (int i = 0; i < eager_looks && spin_ > 0; ++i) {
      if (is_over(std::memory_order_relaxed)) return -1;
      q = take_own(me, due);
      if (q >= 0) return q;
    }
    rest(me);
    lent_core::sight seen;
    // Who has lost its core spins less, and leaves to others what they can run.
    const bool lost = has_lost_core(me);
    const int patience = lost ? spin_ / 8 : spin_, first_look = lost ? patience : 0;
    for (int i = 0, look = first_look; q < 0 && !is_over(std::memory_order_relaxed); ++i) {
      q = take_lent_or_own(me, due);
      if (q < 0 && i >= look) {
        due = INT_MAX;
        q = take_foreign(me);
        const int pause = i / 8;
        look = i + (pause < least_between ? least_between : pause < most_between ? pause : most_between);
      }
      if (q >= 0) break;
      if (i < patience) {
        if (i % between_sights == between_sights - 1 &&
            lent_.look_at_others(me, sharing_, [&](int other) { return current(other) >= 0; }, seen))
          lent_.bind(me);
        spin_pause();
      } else {
        sleep(me);
        i = 0;
        look = first_look;
      }
    }
    rise(me);
    return q;
  }

  void sleep(int me) {
    doorbell& bell = worker_[at(me)].bell;
    const std::uint32_t seen = bell.prepare();
    if (waiters_fence_) heavy_fence();
    if (is_over(std::memory_order_seq_cst) || any_ready(me, std::memory_order_seq_cst)) return bell.leave();
    end_deadlock(me);
    worker_[at(me)].core.end();
    choose_core(me);
    bell.park(seen, me == 0 ? watcher_.period : -1);
    if (me == 0 && watcher_.look != nullptr) watcher_.look(watcher_.self);
  }

  const int spin_;
  const int sharing_;             ///< workers who run each other's queues
  const bool has_others_;         ///< workers who run only their own
  const std::vector<int> cores_;  ///< of the workers, then spare ones; none: they are not bound
  lent_core lent_;
  int core_of_caller_;
  Profile profile_{};
  run_watcher watcher_{};
};

}}}  // namespace hyperparallel::v0_2::detail
