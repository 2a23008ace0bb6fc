// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of program_world.hpp; see support/compiled.hpp.

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/kernels/ops/builtin_kernels.hpp>
#include <hyperparallel/world/program_run.hpp>
#include <hyperparallel/world/program_tasks.hpp>
#include <hyperparallel/world/program_values.ipp>
#include <hyperparallel/world/program_world.hpp>
#include <hyperparallel/world/task_checks.hpp>
#include <hyperparallel/world/world_lowering.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// What runs of a program go back to, as functions that the constructors name: a world that needs none of them has none
/// compiled.
struct program_means {
  void (*add)(lowered_program&, unsigned);  ///< brings runs that are not there
  kernel_choice kernels;
  void (program_tasks::*set_pace)(const lowered_program&, const lowered_run&, const run_pace&);  ///< where one is asked
};

/// The runs of a program by their phases, made when they are first asked for. What the constructor is given must
/// outlive them.
class program_runs {
 public:
  program_runs(lowered_program& l, const program_means& means, const program_slots& s, const program_memory& memory,
               data_type computes, const program_options& options)
      : lowered_(l),
        means_(means),
        execution_(options.execution),
        pace_(options.pace),
        tasks_(l.program, l.pulls, memory, means.kernels, options.budget.tiers, options.measured, computes) {
    execution_.copy_workers = execution_.copy_workers || !options.budget.tiers.empty();
    if (!options.checks.any()) return;
    checks_ = make_owned<task_checks>(l.program, l.pulls, s, memory, options.checks);
    tasks_.set_checks(checks_.get());
  }

  program_tasks& tasks() { return tasks_; }
  const program_tasks& tasks() const { return tasks_; }
  block_sums* sums() { return checks_.get() == nullptr ? nullptr : checks_->sums(); }

  program_run& run_of(unsigned phases) {
    for (const detail::owned<program_run>& f : run_)
      if (f->phases() == phases) return *f;
    if (lowered_.find_run(phases) == nullptr) means_.add(lowered_, phases);
    const lowered_run& run = *lowered_.find_run(phases);
    if (pace_.is_asked()) {
      (tasks_.*means_.set_pace)(lowered_, run, pace_);
      execution_.threads = queue_count(run.plan.machine);  // each sleeps through the tasks of a queue
    }
    return *run_.emplace_back(detail::make_owned<program_run>(lowered_.program, run, tasks_, execution_));
  }
  run_result run(program_run& f, const progress& watch) {
    running_.store(&f, std::memory_order_release);
    struct release {
      std::atomic<program_run*>& running;
      ~release() { running.store(nullptr, std::memory_order_release); }
    } const guard{running_};
    return f.run(watch);
  }
  void cancel() noexcept {
    if (program_run* const running = running_.load(std::memory_order_acquire); running != nullptr) running->cancel();
  }

 private:
  lowered_program& lowered_;
  program_means means_;
  executor_options execution_;
  run_pace pace_;
  program_tasks tasks_;
  owned<task_checks> checks_;
  std::atomic<program_run*> running_{nullptr};
  detail::light_vector<detail::owned<program_run>> run_;
};

template <class T>
program_means means_for(const program_options& options, void (*add)(lowered_program&, unsigned)) {
  return {add, options.kernels != nullptr ? options.kernels : &kernel_of<T>, &program_tasks::set_pace};
}

}  // namespace detail

template <class T>
program_world<T>::program_world(sharded_program p, const program_options& options)
    : program_world(detail::lowered_for(std::move(p), detail::data_type_of<T>, options),
                    detail::means_for<T>(options, &add_run), options) {}

template <class T>
program_world<T>::program_world(lowered_program&& l, const program_options& options)
    : program_world((detail::check_element_types(l.program, detail::data_type_of<T>), std::move(l)),
                    detail::means_for<T>(options, &refuse_run), options) {}

template <class T>
program_world<T>::program_world(lowered_program&& l, const planned_options& options)
    : program_world((detail::check_element_types(l.program, detail::data_type_of<T>), std::move(l)),
                    {&refuse_run, options.kernels, nullptr},
                    {.execution = options.execution,
                     .measured = options.measured,
                     .overflow = options.overflow,
                     .checks = options.checks}) {}

template <class T>
void program_world<T>::refuse_run(lowered_program& l, unsigned phases) {
  std::string there;
  for (const lowered_run& r : l.run) there += (there.empty() ? "" : ", ") + std::to_string(r.phases);
  throw program_error("phases " + std::to_string(phases) + " are no run of this plan: it has " + there);
}

template <class T>
program_world<T>::program_world(lowered_program&& l, const detail::program_means& means, const program_options& options)
    : values(std::move(l), all_ranks(l.program), options.overflow),
      runs_(detail::make_owned<detail::program_runs>(this->lowered_, means, this->slots_, *this->memory_,
                                                     detail::data_type_of<T>, options)) {
  this->keep_sums(runs_->sums());
}

template <class T>
program_world<T>::~program_world() = default;

template <class T>
run_result program_world<T>::run_step(std::int64_t step, const progress& watch) {
  return values::run_step(step, [](int) {}, watch);
}

template <class T>
void program_world<T>::cancel() noexcept {
  runs_->cancel();
}

template <class T>
std::vector<std::int64_t> program_world<T>::step_durations() const {
  return runs_->tasks().durations();
}

template <class T>
run_record program_world<T>::last_run(unsigned phases) {
  runs_->run_of(phases);
  return runs_->tasks().last_of(*this->lowered_.find_run(phases));
}

template <class T>
int program_world<T>::tasks(unsigned phases) {
  return runs_->run_of(phases).tasks();
}

template <class T>
void program_world<T>::gather(int value, T* whole) const {
  this->check_bits(value);
  this->memory_->gather(value, whole);
}

template <class T>
void program_world<T>::gather(int value, std::int32_t* whole) const {
  this->check_bits(value);
  this->memory_->gather(value, whole);
}

template <class T>
void program_world<T>::set_training_step(std::int64_t step) {
  runs_->tasks().set_training_step(step);
}

template <class T>
run_result program_world<T>::run(unsigned phases, const progress& watch) {
  detail::program_run& f = runs_->run_of(phases);
  this->check_reads(f.reads());
  this->begin_run(f);
  const run_result result = runs_->run(f, watch);
  if (result == run_result::complete) this->end_run(f);
  return result;
}

}}  // namespace hyperparallel::v0_2
