// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a sharded program on simulated ranks: every rank its memory, every step a task, moves beside computing.
//
//   hp::program_world<float> world(hp::partition(graph, strategy));
//   world.set("x", x); world.set("weight", w);   // whole tensors, row-major; every rank gets its part
//   world.run_step(1, [&](int micro_batch) { … });
//   world.loss(), world.get("gradient(weight)")
//
// All floats have the type T, numbers of rows are std::int32_t. A step of training is the micro-batches, then the
// update; with one micro-batch both are one taskflow, so the update of one layer overlaps the backward of another.
// Laws: nothing runs that the verifier has not proved safe; results are bit-equal for any number of threads and from
// run to run; memory is that of the address plan, and what a later step overwrites cannot be read (`keep` prevents it).
// What a run that failed or was cancelled would have written has no value after it and is to be set again.

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <hyperparallel/runtime/model_kernels/model_kernels.hpp>
#include <hyperparallel/runtime/program_run.hpp>
#include <hyperparallel/runtime/program_values.hpp>

namespace hyperparallel {

template <class T>
class program_world : public program_values<program_world<T>, T> {
  using values = program_values<program_world<T>, T>;

 public:
  /// Throws program_error, std::bad_alloc.
  explicit program_world(sharded_program p, const program_options& options = {})
      : program_world(prepare_program(std::move(p), data_type_of<T>, options.keep, options.budget), options) {}

  using values::run_step;
  /// One step of training on the inputs that are there.
  run_result run_step(std::int64_t step, const progress& watch) {
    return values::run_step(step, [](int) {}, watch);
  }
  void cancel() noexcept {
    if (program_run* const running = running_.load(std::memory_order_acquire); running != nullptr) running->cancel();
  }
  /// What each step takes on a rank, the median of the last runs, picoseconds; 0 for steps that have not run. Domain:
  /// the world was made `measured`.
  std::vector<std::int64_t> step_durations() const { return tasks_->durations(); }
  /// Tasks of a run of these phases.
  int tasks(unsigned phases = micro_phases | update_phases) { return run_of(phases).tasks(); }

 private:
  friend values;

  program_world(prepared_program&& p, const program_options& options)
      : values(std::move(p), options.lookahead, all_ranks(p.program)), options_(options) {
    tasks_ = std::make_unique<program_tasks>(this->program_, this->pulls_, *this->memory_,
                                             options.kernels != nullptr ? options.kernels : &kernel_of<T>,
                                             options.budget.tiers, options.measured);
    options_.execution.copy_workers = options_.execution.copy_workers || !options.budget.tiers.empty();
  }

  template <class U>
  void read(int t, data_type type, U* whole) const {
    this->memory_->gather(this->value_to_read(t, type), whole);
  }
  void set_training_step(std::int64_t step) { tasks_->set_training_step(step); }

  /// Throws what the executor throws, and program_error where something has no value yet.
  run_result run(unsigned phases, const progress& watch = {}) {
    program_run& f = run_of(phases);
    this->check_reads(f.reads());
    this->begin_run(f);
    running_.store(&f, std::memory_order_release);
    struct release {
      std::atomic<program_run*>& running;
      ~release() { running.store(nullptr, std::memory_order_release); }
    } const guard{running_};
    const run_result result = f.run(watch);
    if (result == run_result::complete) this->end_run(f);
    return result;
  }

  program_run& run_of(unsigned phases) {
    for (const std::unique_ptr<program_run>& f : run_)
      if (f->phases() == phases) return *f;
    program_flow_options how;
    how.phases = phases;
    how.vector_queue = options_.vector_queue;
    how.step_duration = this->duration_.empty() ? nullptr : this->duration_.data();
    return *run_.emplace_back(
        std::make_unique<program_run>(this->program_, this->pulls_, this->slots_, *tasks_, how, options_.execution));
  }

  program_options options_;
  std::unique_ptr<program_tasks> tasks_;
  std::atomic<program_run*> running_{nullptr};
  std::vector<std::unique_ptr<program_run>> run_;  ///< last: their threads leave before the rest is destroyed
};

}  // namespace hyperparallel
