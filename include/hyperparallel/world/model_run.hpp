// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model trained under a strategy, in short: partition, memory, first values, steps.
//
//   hp::model_run<float> run(graph, hp::strategy_called("dp-tp", 4).strategy);
//   for (int step = 0; step < 10; ++step) std::printf("%f\n", run.train_step([&](int) { run.set_random_inputs(step);
//   }));
//
// Law: first values depend on a tensor's name and the place of an element in the whole tensor alone, so every strategy
// starts with the same ones (first_values.hpp); states are 0, masters what they are masters of.
// `World` is what runs the program: program_world, or one that lives in a place, as mpi_program_world does.

#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/strategy/strategy.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/world/first_values.hpp>
#include <hyperparallel/world/program_error.hpp>
#include <hyperparallel/world/program_world.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct model_run_options {
  program_options program{};
  std::uint64_t seed = 1;
};

template <class T, class World = program_world<T>>
class model_run {
 public:
  using number = T;

  /// Throws program_error where the strategy does not fit the graph, or kernels that compute in T do not take its types.
  model_run(const graph& g, const strategy_value& s, const model_run_options& options = {});
  /// Under a pipeline of the model's stages, see `partitioned`.
  model_run(const graph& g, const strategy_value& s, const pipeline_value& pipeline,
            const model_run_options& options = {});
  /// Of sub-models on groups of ranks, see `partitioned`.
  model_run(const graph& g, const submodel_plan& plan, const model_run_options& options = {});
  /// Of the program of a graph that is to run.
  explicit model_run(sharded_program&& p, const model_run_options& options = {});
  /// Of a step of training that is lowered already, see `program_world`.
  explicit model_run(lowered_program&& l, const model_run_options& options = {});
  model_run(lowered_program&& l, const planned_options& options, std::uint64_t seed);
  /// In a place whose processes all come here: throws on all of them what is wrong on one.
  template <class Place>
  model_run(const Place& place, const graph& g, const strategy_value& s, const model_run_options& options = {})
      : seed_(options.seed), world_(place, [&] { return partitioned(g, s); }, options.program) {
    set_first_values();
  }
  template <class Place>
  model_run(const Place& place, const graph& g, const strategy_value& s, const pipeline_value& pipeline,
            const model_run_options& options = {})
      : seed_(options.seed), world_(place, [&] { return partitioned(g, s, pipeline); }, options.program) {
    set_first_values();
  }
  template <class Place>
  model_run(const Place& place, const graph& g, const submodel_plan& plan, const model_run_options& options = {})
      : seed_(options.seed), world_(place, [&] { return partitioned(g, plan); }, options.program) {
    set_first_values();
  }

  World& world() { return world_; }
  const World& world() const { return world_; }
  const hyperparallel::graph& model() const { return world_.program().graph; }
  std::int64_t steps() const { return steps_; }
  /// Steps whose gradients were not finite in their 16 bits, where `program_options::overflow` says to skip these. They
  /// do not count as done.
  std::int64_t skipped() const { return skipped_; }
  /// Steps done before, of a run that goes on. Throws program_error for a negative number.
  void set_steps(std::int64_t done) {
    if (done < 0) throw program_error(std::to_string(done) + " steps of training cannot have been done");
    steps_ = done;
  }

  /// One step; `feed(micro_batch)` sets the inputs. Returns the loss; a step that was cancelled does not count. Throws
  /// as `program_world::run_step`, and so where the graph would learn nothing.
  template <class Feed>
  T train_step(const Feed& feed) {
    const run_result result = world_.run_step(steps_ + 1, feed);
    if (result == run_result::complete) ++steps_;
    if (result == run_result::skipped) ++skipped_;
    last_ = result;
    return world_.loss();
  }
  /// Of the last `train_step`.
  run_result result() const { return last_; }

  /// Gives parameters and masters their first values again, other states zeros.
  void set_first_values();

  /// Random inputs: floats uniform in [-1, 1), numbers of rows and labels below their limit.
  void set_random_inputs(std::uint64_t batch);

 private:
  std::vector<T> values_of_parameter(int t) const;

  std::uint64_t seed_;
  World world_;
  std::int64_t steps_ = 0, skipped_ = 0;
  run_result last_ = run_result::complete;
};

}}  // namespace hyperparallel::v0_2

#ifdef HYPERPARALLEL_COMPILED
namespace hyperparallel { inline namespace v0_2 {

extern template class model_run<float>;
extern template class model_run<double>;

}}  // namespace hyperparallel::v0_2
#else
#include <hyperparallel/world/model_run.ipp>
#endif
