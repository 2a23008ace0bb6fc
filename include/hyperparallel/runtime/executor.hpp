// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a planned taskflow on threads: frozen queues, event counters, nothing decided at run time but who is ready.
//
// Law: a task begins only after all tasks before it in its queue have ended and all its waits hold; when it ends, its
// signals are raised after everything its kernel wrote. Hence the results are those of the reference order for every
// number of threads. Running allocates nothing and takes no lock. A worker serves several queues: when the head of one
// is blocked it goes on with the next, and it sleeps on its own doorbell only when all its heads are blocked. If every
// worker is in that state and no head is ready, nothing can ever change, and the run ends with a deadlock_error.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/runtime/bound_plan.hpp>
#include <hyperparallel/runtime/cores.hpp>
#include <hyperparallel/runtime/crew.hpp>
#include <hyperparallel/runtime/event_counters.hpp>
#include <hyperparallel/runtime/execution.hpp>
#include <hyperparallel/runtime/failure.hpp>
#include <hyperparallel/runtime/kernel.hpp>
#include <hyperparallel/runtime/parking.hpp>
#include <hyperparallel/runtime/profile.hpp>

namespace hyperparallel {

namespace detail {

/// A worker's place in one of its queues. Only that worker touches it, and no other worker's shares its cache line.
struct alignas(cache_line) queue_cursor {
  int queue;
  int next, end;  ///< records
  int wait;       ///< first wait of the head that is not known to hold
};

struct alignas(cache_line) worker_state {
  std::vector<int> queue;  ///< the queues it serves
  std::vector<queue_cursor> cursor;
  doorbell bell;
  alignas(cache_line) std::atomic<std::int64_t> finished{0};
};

}  // namespace detail

template <class Profile = no_profile>
class executor {
 public:
  /// Binds the plan; taskflow and schedule need not outlive the call, the tables of names must outlive the executor.
  /// Throws bind_error when they do not fit each other.
  template <class Flow, class Schedule>
  executor(const Flow& f, const Schedule& s, const executor_options& options = {}) : names_(options.names) {
    std::vector<int> cores = allowed_cores();
    const int available = allowed_core_count(cores);
    int workers = options.threads > 0 ? options.threads : available;
    if (workers > max_workers) workers = max_workers;
    plan_ = bind_plan(f, s, workers);
    counters_ = event_counters(static_cast<int>(plan_.event_total.size()));
    head_ = std::make_unique<std::atomic<int>[]>(plan_.queue.size());
    state_ = std::make_unique<detail::worker_state[]>(detail::at(plan_.workers));
    for (int q = 0; q < static_cast<int>(plan_.queue.size()); ++q) {
      const bound_queue& b = plan_.queue[detail::at(q)];
      if (b.begin != b.end) state_[detail::at(b.worker)].queue.push_back(q);
    }
    for (int w = 0; w < plan_.workers; ++w) state_[detail::at(w)].cursor.resize(state_[detail::at(w)].queue.size());
    if constexpr (Profile::enabled) profile_.size_for(tasks());
    const bool roomy = plan_.workers <= available;
    spin_ = roomy ? options.spin : 0;
    if (!options.pin || !roomy || static_cast<int>(cores.size()) < plan_.workers) cores.clear();
    crew_ = std::make_unique<crew>(plan_.workers, std::move(cores), spin_, &executor::enter, this);
  }
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;

  /// Every task of `operation` runs `k` with `user`. Domain: not during a run. O(tasks).
  void bind(int operation, kernel k, void* user = nullptr) {
    for (bound_task& t : plan_.record)
      if (t.call.operation == operation) {
        t.run = k;
        t.call.user = user;
      }
    ready_ = false;
  }

  /// Runs the plan once. Throws bind_error (an operation has no kernel), task_error, deadlock_error, std::logic_error
  /// (called while running); after each of them, and after a cancelled run, the executor can run again.
  run_result run(const progress& watch = {}) {
    if (running_.exchange(true, std::memory_order_acquire)) throw std::logic_error("the executor is already running");
    struct release {
      std::atomic<bool>& flag;
      ~release() { flag.store(false, std::memory_order_release); }
    } const guard{running_};
    check_kernels();
    watch_ = watch;
    begin();
    crew_->run(watch_.period_nanoseconds(), [this]() noexcept { report(); });
    return finish();
  }

  /// Asks the run in progress to end after the tasks that are running. Any thread, kernels included; without a run in
  /// progress it has no effect.
  void cancel() noexcept { stop(detail::run_end::cancelled); }

  /// Tasks that have ended in the current or last run. Any thread.
  std::int64_t finished() const {
    std::int64_t sum = 0;
    for (int w = 0; w < plan_.workers; ++w) sum += state_[detail::at(w)].finished.load(std::memory_order_relaxed);
    return sum;
  }

  int tasks() const { return static_cast<int>(plan_.record.size()); }
  int threads() const { return plan_.workers; }
  const bound_plan& plan() const { return plan_; }
  const program_names& names() const { return names_; }
  /// Domain: not during a run.
  const Profile& profile() const { return profile_; }

 private:
  using run_end = detail::run_end;
  using queue_cursor = detail::queue_cursor;
  enum class head_state { blocked, finished, stopped };

  static void enter(void* self, int worker) { static_cast<executor*>(self)->work(worker); }

  // --- around a run, on the caller's thread ---------------------------------------------------------------------

  void check_kernels() {
    if (ready_) return;
    for (const bound_task& t : plan_.record)
      if (t.run == nullptr) throw bind_error("no kernel is bound to " + operation_name(names_, t.call.operation));
    ready_ = true;
  }

  void begin() {
    if (broken_) {
      counters_.reset();
      generation_ = 0;
      broken_ = false;
    }
    for (int w = 0; w < plan_.workers; ++w) state_[detail::at(w)].finished.store(0, std::memory_order_relaxed);
    idle_.store(0, std::memory_order_relaxed);
    if constexpr (Profile::enabled) profile_.restart();
    if (watch_.report != nullptr)
      next_report_ = std::chrono::steady_clock::now() + std::chrono::nanoseconds(watch_.period_nanoseconds());
    ending_.restart();
  }

  run_result finish() {
    const run_end end = ending_.why.load(std::memory_order_seq_cst);
    const bool complete = finished() == tasks();
    if (complete && (end == run_end::running || end == run_end::cancelled)) {
      ++generation_;
      if (watch_.report != nullptr) watch_.report(watch_.user, finished(), tasks());
      return run_result::complete;
    }
    broken_ = true;
    if (end == run_end::progress_failed) std::rethrow_exception(std::exchange(ending_.error, nullptr));
    if (end == run_end::task_failed) throw_task_error();
    if (end == run_end::deadlocked) throw_deadlock();
    return run_result::cancelled;
  }

  [[noreturn]] void throw_task_error() {
    const bound_task& t = plan_.record[detail::at(ending_.record)];
    const std::exception_ptr cause = std::exchange(ending_.error, nullptr);
    const task_error error(t.call.task, t.call.rank, operation_name(names_, t.call.operation),
                           slot_name(names_, plan_.written_slot[detail::at(t.call.task)]), first_line(cause));
    try {
      std::rethrow_exception(cause);
    } catch (...) {
      std::throw_with_nested(error);
    }
  }

  [[noreturn]] void throw_deadlock() const {
    const bound_task& t = plan_.record[detail::at(ending_.record)];
    const bound_wait& w = plan_.wait[detail::at(ending_.wait)];
    const std::uint32_t total = plan_.event_total[detail::at(w.event)];
    throw deadlock_error(t.call.task, t.call.rank, operation_name(names_, t.call.operation), w.event,
                         static_cast<std::int64_t>(counters_.value(w.event) - generation_ * total), w.threshold);
  }

  // --- one worker ------------------------------------------------------------------------------------------------

  void work(int me) {
    detail::worker_state& state = state_[detail::at(me)];
    int live = 0;
    for (const int q : state.queue) {
      const bound_queue& b = plan_.queue[detail::at(q)];
      state.cursor[detail::at(live++)] = {q, b.begin, b.end, plan_.record[detail::at(b.begin)].wait_begin};
    }
    while (live > 0) {
      bool moved = false;
      for (int i = 0; i < live;) {
        queue_cursor& c = state.cursor[detail::at(i)];
        const int before = c.next;
        const head_state s = advance(me, c);
        if (s == head_state::stopped) return;
        moved |= c.next != before;
        if (s == head_state::finished) {
          head_[detail::at(c.queue)].store(c.end, std::memory_order_relaxed);
          c = state.cursor[detail::at(--live)];
        } else {
          ++i;
        }
      }
      if (!moved && live > 0 && !await_change(me, live)) return;
    }
    go_idle();
  }

  /// Runs the tasks at the head of a queue until one is blocked.
  head_state advance(int me, queue_cursor& c) {
    while (c.next != c.end) {
      if (!ending_.running(std::memory_order_relaxed)) return head_state::stopped;
      const bound_task& t = plan_.record[detail::at(c.next)];
      if (!ready(c, t, std::memory_order_acquire)) return head_state::blocked;
      if (!execute(me, c.next, t)) return head_state::stopped;
      if (++c.next != c.end) c.wait = plan_.record[detail::at(c.next)].wait_begin;
    }
    return head_state::finished;
  }

  bool holds(const bound_wait& w, std::memory_order order) const {
    return counters_.reached(w.event, event_target(generation_, plan_.event_total[detail::at(w.event)], w.threshold),
                             order);
  }

  bool ready(queue_cursor& c, const bound_task& t, std::memory_order order) const {
    for (; c.wait < t.wait_end; ++c.wait)
      if (!holds(plan_.wait[detail::at(c.wait)], order)) return false;
    return true;
  }

  /// False when the kernel threw.
  bool execute(int me, int record, const bound_task& t) {
    if constexpr (Profile::enabled) profile_.began(t.call.task, me);
    try {
      t.run(t.call);
    } catch (...) {
      fail(run_end::task_failed, record);
      return false;
    }
    if constexpr (Profile::enabled) profile_.ended(t.call.task);
    for (int k = t.signal_begin; k < t.signal_end; ++k) {
      const bound_signal& s = plan_.signal[detail::at(k)];
      if (s.is_private) {
        counters_.signal_private(s.event);
        continue;
      }
      counters_.signal(s.event);
      for (std::uint64_t rest = s.listeners; rest != 0; rest &= rest - 1)
        state_[detail::at(__builtin_ctzll(rest))].bell.ring();
    }
    std::atomic<std::int64_t>& finished = state_[detail::at(me)].finished;
    finished.store(finished.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (me == 0 && watch_.report != nullptr) report();
    return true;
  }

  // --- nothing ready ---------------------------------------------------------------------------------------------

  bool any_ready(int me, int live, std::memory_order order) {
    for (int i = 0; i < live; ++i) {
      queue_cursor& c = state_[detail::at(me)].cursor[detail::at(i)];
      if (ready(c, plan_.record[detail::at(c.next)], order)) return true;
    }
    return false;
  }

  /// Spins, then sleeps, until one of the worker's heads may be ready. False when the run has ended.
  bool await_change(int me, int live) {
    for (int i = 0; plan_.workers > 1 && i < spin_; ++i) {
      if (!ending_.running(std::memory_order_relaxed)) return false;
      if (any_ready(me, live, std::memory_order_acquire)) return true;
      spin_pause();
    }
    detail::worker_state& state = state_[detail::at(me)];
    const std::uint32_t seen = state.bell.prepare();
    if (ending_.running(std::memory_order_seq_cst) && !any_ready(me, live, std::memory_order_seq_cst)) {
      for (int i = 0; i < live; ++i)
        head_[detail::at(state.cursor[detail::at(i)].queue)].store(state.cursor[detail::at(i)].next,
                                                                   std::memory_order_relaxed);
      go_idle();
      state.bell.park(seen, me == 0 ? watch_.period_nanoseconds() : -1);
      idle_.fetch_add(left_idle, std::memory_order_seq_cst);
      if (me == 0 && watch_.report != nullptr) report();
    } else {
      state.bell.leave();
    }
    return ending_.running(std::memory_order_seq_cst);
  }

  /// Low half: workers that are idle or done. High half: how often one has come back. An unchanged word over a look at
  /// all heads means that nobody ran a task meanwhile.
  static constexpr std::uint64_t left_idle = (1ULL << 32) - 1;

  /// Counts this worker as idle or done. The last one looks at every head and ends the run if none is ready.
  void go_idle() {
    const std::uint64_t now = idle_.fetch_add(1, std::memory_order_seq_cst) + 1;
    if (static_cast<int>(now & 0xffffffffU) != plan_.workers) return;
    int blocked_record = -1;
    int blocked_wait = -1;
    for (std::size_t i = 0; i < plan_.queue.size(); ++i) {
      const bound_queue& q = plan_.queue[i];
      const int next = q.begin == q.end ? q.end : head_[i].load(std::memory_order_relaxed);
      if (next == q.end) continue;
      const bound_task& t = plan_.record[detail::at(next)];
      int w = t.wait_begin;
      while (w < t.wait_end && holds(plan_.wait[detail::at(w)], std::memory_order_seq_cst)) ++w;
      if (w == t.wait_end) return;
      if (blocked_record >= 0) continue;
      blocked_record = next;
      blocked_wait = w;
    }
    if (blocked_record < 0 || idle_.load(std::memory_order_seq_cst) != now) return;
    if (!ending_.claim(run_end::deadlocked)) return;
    ending_.record = blocked_record;
    ending_.wait = blocked_wait;
    ring_all();
  }

  // --- ending early ------------------------------------------------------------------------------------------------

  void ring_all() noexcept {
    for (int w = 0; w < plan_.workers; ++w) state_[detail::at(w)].bell.ring();
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

  void report() noexcept {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_report_ || !ending_.running(std::memory_order_relaxed)) return;
    next_report_ = now + std::chrono::nanoseconds(watch_.period_nanoseconds());
    try {
      watch_.report(watch_.user, finished(), tasks());
    } catch (...) {
      fail(run_end::progress_failed, -1);
    }
  }

  program_names names_;
  bound_plan plan_;
  event_counters counters_;
  std::unique_ptr<std::atomic<int>[]> head_;  ///< by queue: the head's record, as of its worker's last idling
  std::unique_ptr<detail::worker_state[]> state_;
  Profile profile_{};
  progress watch_{};
  std::chrono::steady_clock::time_point next_report_{};
  int spin_ = 0;
  std::uint32_t generation_ = 0;
  bool broken_ = false;
  bool ready_ = false;
  std::atomic<bool> running_{false};
  alignas(cache_line) detail::run_ending ending_;
  alignas(cache_line) std::atomic<std::uint64_t> idle_{0};
  std::unique_ptr<crew> crew_;  ///< last: its threads leave before the rest is destroyed
};

}  // namespace hyperparallel
