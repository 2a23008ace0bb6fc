// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a planned taskflow on threads: frozen queues, nothing decided at run time but who is ready.
//
// Law: a task begins only after all tasks before it in its queue have ended and all its waits hold; when it ends, its
// signals are raised after everything its kernel wrote. Hence the results are those of the reference order for every
// number of threads, if the plan is safe: that is proved at construction, unless the caller says `unchecked`. Running
// allocates nothing and takes no lock; a constant plan runs from read-only data.
//
// A run that fails ends after the kernels that are running have returned: no thread is ever left behind. So a kernel
// that never returns keeps `run` from returning; the watchdog then tells its callback at once, and a kernel that asks
// `kernel_call::stopping()` can give way. A run whose tasks have all ended by themselves is complete, whatever was
// asked meanwhile.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <hyperparallel/runtime/bound_plan.hpp>
#include <hyperparallel/runtime/cores.hpp>
#include <hyperparallel/runtime/crew.hpp>
#include <hyperparallel/runtime/diagnosis.hpp>
#include <hyperparallel/runtime/execution.hpp>
#include <hyperparallel/runtime/failure.hpp>
#include <hyperparallel/runtime/kernel.hpp>
#include <hyperparallel/runtime/plan_proof.hpp>
#include <hyperparallel/runtime/profile.hpp>
#include <hyperparallel/runtime/queue_runner.hpp>
#include <hyperparallel/runtime/watchdog.hpp>
#include <hyperparallel/runtime/worker_share.hpp>

namespace hyperparallel {

template <class Profile = no_profile>
class executor {
 public:
  /// Binds the plan and proves it; taskflow and schedule need not outlive the call, the tables of names must outlive
  /// the executor. Throws bind_error when they do not fit each other, unsafe_plan_error when the plan is not proved
  /// safe, std::system_error when a thread cannot be started.
  template <class Flow, class Schedule>
  executor(const Flow& f, const Schedule& s, const executor_options& options = {})
      : executor(unchecked, detail::bound_and_proved(f, s, options.names), options) {}

  /// Runs from where the compiler put the plan; nothing of it is copied. Proved here.
  template <const auto& Flow, const auto& Schedule, execution_options Options>
  explicit executor(constant_plan<Flow, Schedule, Options> p, const executor_options& options = {})
      : executor(unchecked, (prove_plan(Flow, Schedule, options.names), bound_plan(p)), options) {}

  /// The same for a plan that the compiler has proved.
  template <class Taskflow, execution_options Options>
  explicit executor(proved_plan<Taskflow, Options> p, const executor_options& options = {})
      : executor(unchecked, bound_plan(p), options) {}

  /// Nothing is proved: for a plan that has been proved elsewhere, or that the caller knows to be safe.
  template <class Flow, class Schedule>
  executor(unchecked_t, const Flow& f, const Schedule& s, const executor_options& options = {})
      : executor(unchecked, bound_plan(f, s), options) {}
  executor(unchecked_t, bound_plan p, const executor_options& options = {})
      : options_(options),
        plan_(std::move(p)),
        share_(share_queues(plan_.view(), options)),
        runner_(plan_.view(), share_.worker_of, share_.workers) {
    crew_ = std::make_unique<crew>(share_.workers, share_.cores,
                                   share_.spin < spin_between_runs ? share_.spin : spin_between_runs, &executor::enter,
                                   this);
    if (options.watchdog > 0) watchdog_ = std::make_unique<watchdog>(options.watchdog, &executor::look, this);
  }
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;

  /// Every task of `operation` runs `k` with `user`. Domain: not during a run. O(1).
  void bind(int operation, kernel k, void* user = nullptr) {
    const plan_view& p = plan_.view();
    const std::int64_t index = std::int64_t{operation} - p.first_operation;
    if (index >= 0 && index < p.operations) runner_.kernel_of(static_cast<int>(index)) = {k, user};
    ready_ = false;
  }

  /// Runs the plan once. Throws bind_error (an operation has no kernel), task_error, deadlock_error, stall_error,
  /// std::logic_error (called while running); after each of them, and after a cancelled run, the executor can run
  /// again.
  run_result run(const progress& watch = {}) {
    if (running_.exchange(true, std::memory_order_acquire)) throw std::logic_error("the executor is already running");
    struct release {
      std::atomic<bool>& flag;
      ~release() { flag.store(false, std::memory_order_release); }
    } const guard{running_};
    check_kernels();
    watch_ = watch;
    if (watch_.report != nullptr) set_next_report();
    detail::run_watcher watcher;
    if (watch_.report != nullptr) watcher = {&executor::watch_progress, this, watch_.period_nanoseconds()};
    runner_.begin(watcher, share_.spin);
    crew_->run(watcher.period, [this]() noexcept {
      if (watch_.report != nullptr) watch_progress(this);
    });
    return finish();
  }

  /// Asks the run in progress to end after the tasks that are running. Any thread, kernels included; without a run in
  /// progress it has no effect.
  void cancel() noexcept { runner_.stop(detail::run_end::cancelled); }

  /// Tasks that have ended in the current or last run. Any thread. O(queues).
  std::int64_t finished() const { return runner_.finished(); }

  int tasks() const { return plan_.view().size.tasks; }
  int threads() const { return share_.workers; }
  const plan_view& plan() const { return plan_.view(); }
  const program_names& names() const { return options_.names; }
  /// Domain: not during a run.
  const Profile& profile() const { return runner_.profile(); }

  /// Runs are numbered modulo 2^32, and the words of the plan count on from run to run. Domain: not during a run.
  void number_runs_from(std::uint32_t generation) { runner_.number_runs_from(generation); }

 private:
  using run_end = detail::run_end;

  static void enter(void* self, int worker) { static_cast<executor*>(self)->runner_.work(worker); }

  void check_kernels() {
    if (ready_) return;
    const plan_view& p = plan_.view();
    for (int r = 0; r < p.size.tasks; ++r)
      if (runner_.kernel_of(p.record[r].kernel).run == nullptr)
        throw bind_error("no kernel is bound to " + operation_name(options_.names, p.operation(p.record[r])));
    ready_ = true;
  }

  run_result finish() {
    const bool complete = finished() == tasks() && !runner_.ending().noticed.load(std::memory_order_relaxed);
    const run_end end = runner_.ending().close();
    while (looking_.load(std::memory_order_seq_cst)) std::this_thread::yield();
    const bool failed = end == run_end::task_failed || end == run_end::progress_failed;
    runner_.end(complete);
    if (complete && !failed) {
      if (watch_.report != nullptr) watch_.report(watch_.user, finished(), tasks());
      return run_result::complete;
    }
    if (end == run_end::progress_failed) std::rethrow_exception(std::exchange(runner_.ending().error, nullptr));
    if (end == run_end::task_failed) throw_task_error();
    if (end == run_end::deadlocked)
      throw deadlock_error(detail::find_waiting(plan_.view(), options_.names, heads(), not_busy()));
    if (end == run_end::stalled) throw *std::exchange(stall_, std::nullopt);
    return run_result::cancelled;
  }

  [[noreturn]] void throw_task_error() {
    const plan_view& p = plan_.view();
    const execution_record& r = p.record[runner_.ending().record];
    const std::exception_ptr cause = std::exchange(runner_.ending().error, nullptr);
    const task_error error(r.task, r.rank, operation_name(options_.names, p.operation(r)),
                           slot_name(options_.names, p.written_slot(r.task)), first_line(cause));
    try {
      std::rethrow_exception(cause);
    } catch (...) {
      std::throw_with_nested(error);
    }
  }

  std::vector<int> heads() const {
    std::vector<int> head;
    for (int q = 0; q < plan_.view().size.queues; ++q) head.push_back(runner_.head(q));
    return head;
  }
  std::vector<bool> not_busy() const { return std::vector<bool>(detail::at(plan_.view().size.queues)); }

  // --- watching -----------------------------------------------------------------------------------------------------

  void set_next_report() {
    next_report_ = std::chrono::steady_clock::now() + std::chrono::nanoseconds(watch_.period_nanoseconds());
  }

  /// On worker 0. An exception ends the run.
  static void watch_progress(void* self) noexcept {
    executor& x = *static_cast<executor*>(self);
    if (std::chrono::steady_clock::now() < x.next_report_ || !x.runner_.ending().running(std::memory_order_relaxed))
      return;
    x.set_next_report();
    try {
      x.watch_.report(x.watch_.user, x.finished(), x.tasks());
    } catch (...) {
      x.runner_.fail(run_end::progress_failed, -1);
    }
  }

  /// On the watchdog's thread. While `looking_` is set, `run` does not return.
  static void look(void* self) {
    executor& x = *static_cast<executor*>(self);
    x.looking_.store(true, std::memory_order_seq_cst);
    x.look_for_progress();
    x.looking_.store(false, std::memory_order_seq_cst);
  }

  void look_for_progress() {
    const auto now = std::chrono::steady_clock::now();
    const std::int64_t seen = runner_.ending().running(std::memory_order_seq_cst) ? finished() : -1;
    if (seen < 0 || seen != seen_finished_ || runner_.runs_begun() != seen_run_) {
      seen_finished_ = seen;
      seen_run_ = runner_.runs_begun();
      seen_at_ = now;
      return;
    }
    if (now - seen_at_ < std::chrono::milliseconds(options_.watchdog)) return;
    const plan_view& p = plan_.view();
    const std::vector<int> head = heads();
    std::vector<bool> busy = not_busy();
    std::vector<named_task> running;
    for (int w = 0; w < share_.workers; ++w) {
      const int q = runner_.current(w);
      if (q < 0 || head[detail::at(q)] == p.queue_begin[q + 1]) continue;
      busy[detail::at(q)] = true;
      running.push_back(detail::name_task(p, options_.names, p.record[head[detail::at(q)]].task));
    }
    stall_.emplace(options_.watchdog, std::move(running), detail::find_waiting(p, options_.names, head, busy));
    const std::string what = stall_->what();
    if (!runner_.ending().claim(run_end::stalled)) return;
    runner_.ring_all();
    if (options_.stalled != nullptr) options_.stalled(options_.stalled_user, what.c_str());
  }

  executor_options options_;
  bound_plan plan_;
  worker_share share_;
  detail::queue_runner<Profile> runner_;
  progress watch_{};
  std::chrono::steady_clock::time_point next_report_{};
  bool ready_ = false;
  std::atomic<bool> running_{false};
  std::atomic<bool> looking_{false};
  std::optional<stall_error> stall_;  ///< of the watchdog's thread until it has ended a run
  std::int64_t seen_finished_ = -1;
  std::uint32_t seen_run_ = 0;
  std::chrono::steady_clock::time_point seen_at_{};
  std::unique_ptr<crew> crew_;  ///< last: its threads leave before the rest is destroyed
  std::unique_ptr<watchdog> watchdog_;
};

}  // namespace hyperparallel
