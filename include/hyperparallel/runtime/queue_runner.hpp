// SPDX-License-Identifier: Apache-2.0
#pragma once
// The inner loop of the executor: each worker runs the records of its queues in order, as far as their waits hold.
//
// A worker serves several queues, the head with the earliest planned start first; when that is blocked it goes on with
// the next, and it sleeps on its own doorbell only when all its heads are blocked. If every worker is in that state and
// no head is ready, nothing can ever change, and the run ends as a deadlock.

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <hyperparallel/runtime/plan_state.hpp>
#include <hyperparallel/runtime/profile.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Called by worker 0 between tasks; decides itself whether it is time.
struct run_watcher {
  void (*look)(void* self) noexcept = nullptr;
  void* self = nullptr;
  std::int64_t period = -1;  ///< nanoseconds
};

template <class Profile>
class queue_runner : public plan_state {
 public:
  queue_runner(const plan_view& p, const std::vector<int>& worker_of, int workers)
      : plan_state(p, worker_of, workers), slack_(static_cast<int>(most_ahead >> p.time_shift)) {
    if constexpr (Profile::enabled) profile_.size_for(p.size.tasks);
  }

  const Profile& profile() const { return profile_; }

  /// Before the workers begin. `spin` pauses pass before a worker sleeps.
  void begin(const run_watcher& watcher, int spin) {
    watcher_ = watcher;
    spin_ = workers_ > 1 ? spin : 0;
    if constexpr (Profile::enabled) profile_.restart();
    begin_run(spin_ > 0);
  }

  /// One worker's part of a run.
  void work(int me) {
    std::vector<int>& heads = worker_[at(me)].live;
    int live = 0;
    for (const int q : worker_[at(me)].queue) heads[at(live++)] = q;
    for (int i = live - 2; i >= 0; --i) settle(heads, i, live);
    while (live > 0) {
      bool moved = false;
      for (int i = 0; i < live && !moved; ++i) {
        const int q = heads[at(i)], before = head(q);
        const int due = live == 1 ? INT_MAX : slack_ + start_of(i == 0 ? heads[1] : q);
        const head_state s = advance(me, q, live == 1, due);
        if (s == head_state::stopped) return;
        moved = head(q) != before;
        if (s == head_state::finished) {
          --live;
          for (int k = i; k < live; ++k) heads[at(k)] = heads[at(k + 1)];
        } else if (moved) {
          settle(heads, i, live);
        }
      }
      if (!moved && !await_change(me, live)) return;
    }
    go_idle();
  }

 private:
  /// Planned time by which a queue may run ahead of another one of its worker: to change queues costs some tens of
  /// nanoseconds, so the order of shorter tasks matters less.
  static constexpr std::int64_t most_ahead = 500'000;  // picoseconds

  /// Looks without a pause in between, which may take longer than a hand-off.
  static constexpr int eager_polls = 256;

  enum class head_state { waiting, finished, stopped };

  int start_of(int q) const { return plan_.record[head(q)].start; }

  /// Moves the queue at `i` back to where the planned start of its head belongs.
  void settle(std::vector<int>& heads, int i, int live) const {
    const int q = heads[at(i)], start = start_of(q);
    for (; i + 1 < live && start_of(heads[at(i + 1)]) < start; ++i) heads[at(i)] = heads[at(i + 1)];
    heads[at(i)] = q;
  }

  /// Runs the tasks at the head of a queue until one is blocked or planned later than `due`. `alone`: the worker has
  /// nothing else to do.
  head_state advance(int me, int q, bool alone, int due) {
    queue_state& c = queue_[at(q)];
    std::atomic<int>& current = worker_[at(me)].current;
    const execution_record* const record = plan_.record;
    const bound_kernel* const kernels = kernel_.data();
    const int first_operation = plan_.first_operation, end = c.end;
    const std::uint32_t base = generation_ * words_[q].period + 1U - static_cast<std::uint32_t>(plan_.queue_begin[q]);
    const bool watched = me == 0 && watcher_.look != nullptr;
    int next = c.next.load(std::memory_order_relaxed), wait = c.wait, reader = c.reader, signal = c.signal;
    head_state state = head_state::waiting;
    current.store(q, std::memory_order_relaxed);
    try {
      for (;;) {
        if (!ending_.running(std::memory_order_relaxed)) {
          state = head_state::stopped;
          break;
        }
        const execution_record& r = record[next];
        while (wait != r.wait_end && holds(plan_.wait[wait], std::memory_order_acquire)) ++wait;
        if (wait != r.wait_end) {
          if constexpr (Profile::enabled) profile_.blocked(r.task);
          if (alone && poll(wait, r.wait_end)) continue;
          break;
        }
        const bound_kernel& k = kernels[r.kernel];
        if constexpr (Profile::enabled) profile_.began(r.task, me);
        k.run({r.rank, r.task, r.kernel + first_operation, r.item, k.user, &ending_});
        if constexpr (Profile::enabled) profile_.ended(r.task);
        if (reader != r.reader_end) {
          publish(me, q, base + static_cast<std::uint32_t>(next), reader, r.reader_end);
          reader = r.reader_end;
        }
        for (; signal != r.signal_end; ++signal) raise(me, plan_.signal[signal]);
        if constexpr (Profile::enabled) profile_.signalled(r.task);
        c.next.store(++next, std::memory_order_relaxed);
        if (watched) watcher_.look(watcher_.self);
        if (next == end) {
          state = head_state::finished;
          break;
        }
        if (record[next].start > due) break;
      }
    } catch (...) {
      fail(run_end::task_failed, next);
      state = head_state::stopped;
    }
    current.store(-1, std::memory_order_relaxed);
    c.wait = wait;
    c.reader = reader;
    c.signal = signal;
    return state;
  }

  /// False when the waits do not all hold after a while.
  bool poll(int& wait, int wait_end) const {
    for (int i = 0; workers_ > 1 && i < eager_polls && ending_.running(std::memory_order_relaxed); ++i)
      while (holds(plan_.wait[wait], std::memory_order_acquire))
        if (++wait == wait_end) return true;
    return false;
  }

  bool any_ready(int me, int live, std::memory_order order) {
    for (int i = 0; i < live; ++i) {
      queue_state& c = queue_[at(worker_[at(me)].live[at(i)])];
      const int wait_end = plan_.record[c.next.load(std::memory_order_relaxed)].wait_end;
      while (c.wait != wait_end && holds(plan_.wait[c.wait], order)) ++c.wait;
      if (c.wait == wait_end) return true;
    }
    return false;
  }

  /// Spins, then sleeps, until one of the worker's heads may be ready. False when the run has ended.
  bool await_change(int me, int live) {
    for (int i = 0; i < spin_; ++i) {
      if (!ending_.running(std::memory_order_relaxed)) return false;
      if (any_ready(me, live, std::memory_order_acquire)) return true;
      spin_pause();
    }
    doorbell& bell = worker_[at(me)].bell;
    const std::uint32_t seen = bell.prepare();
    if (waiters_fence_) heavy_fence();
    if (ending_.running(std::memory_order_seq_cst) && !any_ready(me, live, std::memory_order_seq_cst)) {
      go_idle();
      bell.park(seen, me == 0 ? watcher_.period : -1);
      come_back();
      if (me == 0 && watcher_.look != nullptr) watcher_.look(watcher_.self);
    } else {
      bell.leave();
    }
    return ending_.running(std::memory_order_seq_cst);
  }

  const int slack_;  ///< `most_ahead` in the plan's units
  Profile profile_{};
  run_watcher watcher_{};
  int spin_ = 0;
};

}}}  // namespace hyperparallel::v0_2::detail
