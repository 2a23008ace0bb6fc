// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a sharded program on simulated ranks: every rank its memory, every step a task, moves beside computing.
//
//   hp::program_world<float> world(hp::partition(graph, strategy));
//   world.set("x", x); world.set("weight", w);   // whole tensors, row-major; every rank gets its part
//   world.run_step(1, [&](int micro_batch) { … });
//   world.loss(), world.get("gradient(weight)")
//
// Element types are the program's. T is what kernels compute in, and what values are set and read in: double for a
// program of f64, float for one of f32, bf16 or f16; numbers of rows are std::int32_t. A step of training is the micro-batches, then the
// update; with one micro-batch both are one taskflow, so the update of one layer overlaps the backward of another.
// Laws: nothing runs that the verifier has not proved safe; results are bit-equal for any number of threads and from
// run to run; memory is that of the address plan, and what a later step overwrites cannot be read (`keep` prevents it).
// What a run that failed or was cancelled would have written has no value after it and is to be set again.

#include <cstdint>
#include <vector>

#include <hyperparallel/kernels/ops/builtin_kernels.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/support/owned.hpp>
#include <hyperparallel/world/program_values.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

class program_runs;
struct program_means;

}  // namespace detail

struct run_record;

template <class T>
class program_world : public program_values<program_world<T>, T> {
  using values = program_values<program_world<T>, T>;

 public:
  /// Throws program_error, std::bad_alloc.
  explicit program_world(sharded_program p, const program_options& options = {});
  /// Of a program that is lowered already: its runs are all that there are, and of the options those count that do not
  /// change a plan. Throws program_error, std::bad_alloc.
  explicit program_world(lowered_program&& l, const program_options& options = {});
  program_world(lowered_program&& l, const planned_options& options);
  ~program_world();

  using values::run_step;
  /// One step of training on the inputs that are there.
  run_result run_step(std::int64_t step, const progress& watch);
  void cancel() noexcept;
  /// What each step takes on a rank, the median of the last runs, picoseconds; 0 for steps that have not run. Domain:
  /// the world was made `measured`.
  std::vector<std::int64_t> step_durations() const;
  /// When each task of these phases ran last (program_tasks.hpp), for report/trace_steps.hpp. Domain: made `measured`.
  run_record last_run(unsigned phases = micro_phases | update_phases);
  /// Tasks of a run of these phases.
  int tasks(unsigned phases = micro_phases | update_phases);

 private:
  friend values;

  program_world(lowered_program&& l, const detail::program_means& means, const program_options& options);

  [[noreturn]] static void refuse_run(lowered_program& l, unsigned phases);
  template <class Choose, class U>
  void read(int, const Choose& choose, U* whole) const {
    gather(choose(), whole);
  }
  void gather(int value, T* whole) const;
  void gather(int value, std::int32_t* whole) const;
  void set_training_step(std::int64_t step);
  static int least_of_all(int here) { return here; }
  /// Throws what the executor throws, and program_error where something has no value yet.
  run_result run(unsigned phases, const progress& watch = {});

  detail::owned<detail::program_runs> runs_;  ///< last: their threads leave before the rest is destroyed
};

}}  // namespace hyperparallel::v0_2

#ifdef HYPERPARALLEL_COMPILED
namespace hyperparallel { inline namespace v0_2 {

extern template class program_values<program_world<float>, float>;
extern template class program_values<program_world<double>, double>;
extern template class program_world<float>;
extern template class program_world<double>;

}}  // namespace hyperparallel::v0_2
#else
#include <hyperparallel/world/program_world.ipp>
#endif
