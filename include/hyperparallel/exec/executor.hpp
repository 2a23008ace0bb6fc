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
//
// The folder exec/: what carries out a proved taskflow on threads, whatever its tasks do. Kernels and their arenas, queues and
// the workers that hold them, cores, parking, pace, failures with their diagnosis, profiles. It knows no program: programs on
// ranks are in world/, copies between memories in transfer/.

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

#include <hyperparallel/exec/bound_plan.hpp>
#include <hyperparallel/exec/cores.hpp>
#include <hyperparallel/exec/crew.hpp>
#include <hyperparallel/exec/diagnosis.hpp>
#include <hyperparallel/exec/execution.hpp>
#include <hyperparallel/exec/failure.hpp>
#include <hyperparallel/exec/kernel.hpp>
#include <hyperparallel/exec/plan_proof.hpp>
#include <hyperparallel/exec/profile.hpp>
#include <hyperparallel/exec/queue_runner.hpp>
#include <hyperparallel/exec/watchdog.hpp>
#include <hyperparallel/exec/worker_share.hpp>
#include <hyperparallel/kernels/steady_time.hpp>
#include <hyperparallel/support/owned.hpp>

namespace hyperparallel { inline namespace v0_2 {

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
  executor(unchecked_t, bound_plan p, const executor_options& options = {});
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;
  ~executor() { runner_.ring_all(); }  // who fell asleep in a run

  /// Every task of `operation` runs `k` with `user`. Domain: not during a run. O(1).
  void bind(int operation, kernel k, void* user = nullptr);

  /// Runs the plan once. Throws bind_error (an operation has no kernel), task_error, deadlock_error, stall_error,
  /// std::logic_error (called while running); after each of them, and after a cancelled run, the executor can run
  /// again.
  run_result run(const progress& watch = {});

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

  void check_kernels();

  run_result finish();

  [[noreturn]] void throw_task_error();

  std::vector<int> heads() const;
  std::vector<bool> not_busy() const { return std::vector<bool>(detail::at(plan_.view().size.queues)); }

  // --- watching -----------------------------------------------------------------------------------------------------

  void set_next_report() { next_report_ = detail::steady_nanoseconds() + watch_.period_nanoseconds(); }

  /// On worker 0. An exception ends the run.
  static void watch_progress(void* self) noexcept;

  /// On the watchdog's thread. While `looking_` is set, `run` does not return.
  static void look(void* self);

  void look_for_progress();

  executor_options options_;
  bound_plan plan_;
  worker_share share_;
  detail::queue_runner<Profile> runner_;
  progress watch_{};
  std::int64_t next_report_ = 0;  ///< of steady_nanoseconds()
  bool ready_ = false;
  std::atomic<bool> running_{false};
  std::atomic<bool> looking_{false};
  std::optional<stall_error> stall_;  ///< of the watchdog's thread until it has ended a run
  std::int64_t seen_finished_ = -1;
  std::uint32_t seen_run_ = 0;
  std::int64_t seen_at_ = 0;  ///< of steady_nanoseconds()
  detail::owned<crew> crew_;  ///< last: its threads leave before the rest is destroyed
  detail::owned<watchdog> watchdog_;
};

}}  // namespace hyperparallel::v0_2

#ifdef HYPERPARALLEL_COMPILED
namespace hyperparallel { inline namespace v0_2 {

extern template class executor<no_profile>;
extern template class executor<record_profile>;

}}  // namespace hyperparallel::v0_2
#else
#include <hyperparallel/exec/executor.ipp>
#endif
