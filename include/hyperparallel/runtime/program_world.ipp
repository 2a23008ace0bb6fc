// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of program_world.hpp; see support/compiled.hpp.

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <hyperparallel/kernels/ops/builtin_kernels.hpp>
#include <hyperparallel/runtime/prepared_program.hpp>
#include <hyperparallel/runtime/program_run.hpp>
#include <hyperparallel/runtime/program_tasks.hpp>
#include <hyperparallel/runtime/program_values.ipp>
#include <hyperparallel/runtime/program_world.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// The runs of a program by their phases, made when they are first asked for. What the constructor is given must
/// outlive them.
class program_runs {
 public:
  program_runs(const sharded_program& p, const program_pulls& pulls, const program_addresses& addresses,
               const program_memory& memory, const std::vector<std::int64_t>& step_duration, kernel_choice kernels,
               data_type computes, const program_options& options)
      : options_(options),
        program_(p),
        pulls_(pulls),
        addresses_(addresses),
        step_duration_(step_duration),
        tasks_(p, pulls, memory, kernels, options.budget.tiers, options.measured, computes) {
    options_.execution.copy_workers = options_.execution.copy_workers || !options.budget.tiers.empty();
  }

  program_tasks& tasks() { return tasks_; }
  const program_tasks& tasks() const { return tasks_; }

  program_run& run_of(unsigned phases) {
    for (const std::unique_ptr<program_run>& f : run_)
      if (f->phases() == phases) return *f;
    program_flow_options how;
    how.phases = phases;
    how.vector_queue = options_.vector_queue;
    how.step_duration = step_duration_.empty() ? nullptr : step_duration_.data();
    return *run_.emplace_back(
        std::make_unique<program_run>(program_, pulls_, addresses_, tasks_, how, options_.execution));
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
  program_options options_;
  const sharded_program& program_;
  const program_pulls& pulls_;
  const program_addresses& addresses_;
  const std::vector<std::int64_t>& step_duration_;
  program_tasks tasks_;
  std::atomic<program_run*> running_{nullptr};
  std::vector<std::unique_ptr<program_run>> run_;
};

}  // namespace detail

template <class T>
program_world<T>::program_world(sharded_program p, const program_options& options)
    : program_world(prepare_program(std::move(p), data_type_of<T>, options), options) {}

template <class T>
program_world<T>::program_world(prepared_program&& p, const program_options& options)
    : values(std::move(p), all_ranks(p.program)),
      runs_(std::make_unique<detail::program_runs>(
          this->program_, this->pulls_, this->addresses_, *this->memory_, this->duration_,
          options.kernels != nullptr ? options.kernels : &kernel_of<T>, data_type_of<T>, options)) {}

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
int program_world<T>::tasks(unsigned phases) {
  return runs_->run_of(phases).tasks();
}

template <class T>
void program_world<T>::read(int t, data_type type, T* whole) const {
  this->memory_->gather(this->value_to_read(t, type), whole);
}

template <class T>
void program_world<T>::read(int t, data_type type, std::int32_t* whole) const {
  this->memory_->gather(this->value_to_read(t, type), whole);
}

template <class T>
void program_world<T>::set_training_step(std::int64_t step) {
  runs_->tasks().set_training_step(step);
}

template <class T>
run_result program_world<T>::run(unsigned phases, const progress& watch) {
  program_run& f = runs_->run_of(phases);
  this->check_reads(f.reads());
  this->begin_run(f);
  const run_result result = runs_->run(f, watch);
  if (result == run_result::complete) this->end_run(f);
  return result;
}

}}  // namespace hyperparallel::v0_2
