// SPDX-License-Identifier: Apache-2.0
#pragma once
// A training on simulated ranks that runs a planned step: fed with data, run, watched, fetched. `world<step>` (world.hpp)
// is one whose plan is that of a type, or is made at its start under the budget of a type.
//
// Parameters begin as first_values.hpp says, which depends on the seed alone, not on the strategy. Values fed of several
// micro-batches are taken in turn.
// Laws: the same step gives the same bits on any number of threads, and those of `program_world` on the same program; a
// step that ends in an error or is cancelled has not happened to `steps()`. Errors are program_error and name the tensor.
// Complexity: start O(values + tasks) beyond filling memory.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <hyperparallel/lowering/image.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/support/hook.hpp>
#include <hyperparallel/support/owned.hpp>
#include <hyperparallel/world/model_run.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct world_options {
  executor_options execution{};
  std::uint64_t seed = 1;                                ///< of first values
  overflow_response overflow = overflow_response::stop;  ///< to a gradient of 16 bits that is not finite
  bool measured = false;  ///< `program_world::step_durations` and `last_run` can be asked for
};

/// The figures that hooks get after a step of training.
struct trained_step {
  std::int64_t step = 0;          ///< done in all, from 1
  std::int64_t done = 0, of = 0;  ///< of this call of `train`
  double loss = 0;
  double seconds = 0;  ///< since that call began
};

struct training_options {
  /// Called before each micro-batch, which it may feed. `step` counts from 1.
  hook<void(std::int64_t step, int micro_batch)> before_micro_batch{};
  /// Called after each step, for checkpoints, validation, rates; false ends the training.
  hook<bool(const trained_step&)> after_step{};
  /// Called after the first step that ends `period` milliseconds after the last call, and after the last one.
  hook<void(const trained_step&)> progress{};
  std::int64_t period = 1000;
};

/// `Number`: what kernels compute in, and what values are fed and fetched in; float or double.
template <class Number>
class training_world {
 public:
  using number = Number;

  /// Runs a step of a graph with these operators, whose kernels compute in `number`. Throws program_error, std::bad_alloc.
  training_world(const image_view& plan, const operator_list& operators, kernel_choice kernels,
                 const world_options& options);
  /// As before, of the built-in operators.
  training_world(const image_view& plan, const world_options& options);
  /// Runs a program that is planned now, as `program` says, with what `options` say. Throws as `program_world`.
  training_world(sharded_program&& p, program_options program, const world_options& options);
  ~training_world();
  training_world(const training_world&) = delete;
  training_world& operator=(const training_world&) = delete;

  // ---- values ----

  /// The input of this name, for all steps from here on: of one micro-batch, or of several, one after the other, which
  /// are taken in turn. Throws program_error where there is no such input, and for other sizes and types.
  training_world& feed(const std::string& name, std::span<const number> values);
  training_world& feed(const std::string& name, std::span<const std::int32_t> values);
  /// The whole value of a parameter or a state.
  training_world& set(const std::string& name, std::span<const number> values);
  /// The whole tensor of this name as it is: a parameter, a state, an input, or what the step keeps.
  std::vector<number> fetch(const std::string& name) const;

  // ---- training ----

  /// Up to so many steps; the loss of each, before its update. Ends before that where a hook says so or `cancel` is
  /// called. Throws program_error where an input has no value, and what kernels and hooks throw.
  std::vector<double> train(std::int64_t steps, const training_options& how = {});
  /// Ends a training that goes on in another thread: the step that runs does not count.
  void cancel() noexcept;
  std::int64_t steps() const { return run_.steps(); }
  /// Steps done before, of a training that goes on from a checkpoint.
  void set_steps(std::int64_t done) { run_.set_steps(done); }
  std::int64_t skipped() const { return run_.skipped(); }

  /// The training below: its model, `run().world()` for what it took and who received what, checkpoints.
  model_run<number>& run() { return run_; }
  const model_run<number>& run() const { return run_; }

 private:
  struct state;  ///< what is fed, and whether the training is cancelled

  template <class T>
  training_world& feed_any(const std::string& name, std::span<const T> values);
  double train_step(const training_options& how);

  model_run<number> run_;
  detail::owned<state> state_;
};

}}  // namespace hyperparallel::v0_2

#ifdef HYPERPARALLEL_COMPILED
namespace hyperparallel { inline namespace v0_2 {

extern template class training_world<float>;
extern template class training_world<double>;

}}  // namespace hyperparallel::v0_2
#else
#include <hyperparallel/world/training_world.ipp>
#endif
