// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of executor.hpp; see support/compiled.hpp.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <hyperparallel/exec/executor.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <class Profile>
executor<Profile>::executor(unchecked_t, bound_plan p, const executor_options& options)
    : options_(options),
      plan_(std::move(p)),
      share_(detail::share_queues(plan_.view(), options)),
      runner_(plan_.view(), share_) {
  crew_ = detail::make_owned<crew>(share_.workers, share_.cores,
                                   share_.spin < detail::spin_between_runs ? share_.spin : detail::spin_between_runs,
                                   &executor::enter, this);
  if (options.watchdog > 0) watchdog_ = detail::make_owned<watchdog>(options.watchdog, &executor::look, this);
}

template <class Profile>
void executor<Profile>::bind(int operation, kernel k, void* user) {
  const plan_view& p = plan_.view();
  const std::int64_t index = std::int64_t{operation} - p.first_operation;
  if (index >= 0 && index < p.operations) runner_.kernel_of(static_cast<int>(index)) = {k, user};
  ready_ = false;
}

template <class Profile>
run_result executor<Profile>::run(const progress& watch) {
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
  crew_->lead(runner_.begin(watcher));
  runner_.close();
  return finish();
}

template <class Profile>
void executor<Profile>::check_kernels() {
  if (ready_) return;
  const plan_view& p = plan_.view();
  for (int r = 0; r < p.size.tasks; ++r)
    if (runner_.kernel_of(p.record[r].kernel).run == nullptr)
      throw bind_error("no kernel is bound to " + operation_name(options_.names, p.operation(p.record[r])));
  ready_ = true;
}

template <class Profile>
run_result executor<Profile>::finish() {
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

template <class Profile>
[[noreturn]] void executor<Profile>::throw_task_error() {
  const plan_view& p = plan_.view();
  const execution_record& r = p.record[runner_.ending().record];
  const std::exception_ptr cause = std::exchange(runner_.ending().error, nullptr);
  const task_error error(r.task, r.rank, operation_name(options_.names, p.operation(r)),
                         p.task != nullptr ? detail::slot_name(options_.names, p.written_slot(r.task))
                                           : detail::written_name(options_.names, p.operation(r)),
                         detail::first_line(cause));
  try {
    std::rethrow_exception(cause);
  } catch (...) {
    std::throw_with_nested(error);
  }
}

template <class Profile>
std::vector<int> executor<Profile>::heads() const {
  std::vector<int> head;
  for (int q = 0; q < plan_.view().size.queues; ++q) head.push_back(runner_.head(q));
  return head;
}

template <class Profile>
void executor<Profile>::watch_progress(void* self) noexcept {
  executor& x = *static_cast<executor*>(self);
  if (detail::steady_nanoseconds() < x.next_report_ || !x.runner_.ending().running(std::memory_order_relaxed)) return;
  x.set_next_report();
  try {
    x.watch_.report(x.watch_.user, x.finished(), x.tasks());
  } catch (...) {
    x.runner_.fail(run_end::progress_failed, -1);
  }
}

template <class Profile>
void executor<Profile>::look(void* self) {
  executor& x = *static_cast<executor*>(self);
  x.looking_.store(true, std::memory_order_seq_cst);
  x.look_for_progress();
  x.looking_.store(false, std::memory_order_seq_cst);
}

template <class Profile>
void executor<Profile>::look_for_progress() {
  const std::int64_t now = detail::steady_nanoseconds();
  const std::int64_t seen = runner_.ending().running(std::memory_order_seq_cst) ? finished() : -1;
  if (seen < 0 || seen != seen_finished_ || runner_.runs_begun() != seen_run_) {
    seen_finished_ = seen;
    seen_run_ = runner_.runs_begun();
    seen_at_ = now;
    return;
  }
  if ((now - seen_at_) / 1'000'000 < options_.watchdog) return;
  const plan_view& p = plan_.view();
  const std::vector<int> head = heads();
  std::vector<bool> busy = not_busy();
  std::vector<named_task> running;
  for (int w = 0; w < share_.workers; ++w) {
    const int q = runner_.current(w);
    if (q < 0 || head[detail::at(q)] == p.queue_begin[q + 1]) continue;
    busy[detail::at(q)] = true;
    running.push_back(detail::name_task(p, options_.names, head[detail::at(q)]));
  }
  stall_.emplace(options_.watchdog, std::move(running), detail::find_waiting(p, options_.names, head, busy));
  const std::string what = stall_->what();
  if (!runner_.ending().claim(run_end::stalled)) return;
  runner_.ring_all();
  if (options_.stalled != nullptr) options_.stalled(options_.stalled_user, what.c_str());
}

}}  // namespace hyperparallel::v0_2
