// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every world of a program has, wherever its ranks live: tensors by name, which of them have a value, memory, and
// the steps of training.
//
// `World` is the class that derives from it: program_world, whose ranks are simulated on threads, or mpi_program_world,
// whose ranks live on processes. It brings
//
//   run(phases, …)            carries the phases out, between `begin_run` and `end_run`
//   set_training_step(step)   the number that kernels are told
//   read(tensor, choose, whole) gathers the value of the tensor that `choose()` is
//   least_of_all(number)      of the numbers that the processes have
//
// A world of one's own includes program_values.ipp, which has the bodies in both modes.
// Laws: a storage has a value from the moment it is set, or a complete run has written it, until a run takes its
// addresses for another; what has none cannot be read, nor run with. Errors are program_error and name the tensor.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <hyperparallel/graph/check_training.hpp>
#include <hyperparallel/graph/index_range.hpp>
#include <hyperparallel/kernels/element_type.hpp>
#include <hyperparallel/kernels/widened_kernel.hpp>
#include <hyperparallel/lowering/program_slots.hpp>
#include <hyperparallel/strategy/address_plan.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/support/owned.hpp>
#include <hyperparallel/world/gradient_overflow.hpp>
#include <hyperparallel/world/world_lowering.hpp>

namespace hyperparallel { inline namespace v0_2 {

class program_memory;

namespace detail {

class block_sums;

}  // namespace detail

template <class World, class T>
class program_values {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "kernels compute in float or double");

 public:
  program_values(const program_values&) = delete;
  program_values& operator=(const program_values&) = delete;

  const sharded_program& program() const { return lowered_.program; }
  int ranks() const;
  /// The tensor of that name. Throws program_error.
  int tensor(const std::string& name) const;

  // ---- values ----

  /// Gives an input, parameter or state its whole value. Throws program_error, also for a number of a row or a label
  /// that its readers do not have.
  void set(int t, std::span<const T> whole) { set_home(t, detail::data_type_of<T>, whole.data(), whole.size()); }
  void set(int t, std::span<const std::int32_t> whole) { set_home(t, data_type::i32, whole.data(), whole.size()); }
  void set(const std::string& name, std::span<const T> whole) { set(tensor(name), whole); }
  void set(const std::string& name, std::span<const std::int32_t> whole) { set(tensor(name), whole); }
  /// Zeros everywhere, of what may be a sum of terms as well.
  void clear(int t);
  /// Whether some step reads the tensor, or it is one that a run leaves a next value of.
  bool is_used(int t) const { return program().home[t] >= 0; }

  /// The whole tensor as it is: what lives from step to step, or what a run has left; terms that wait are reduced.
  /// Throws where its memory has been taken by another since, or nothing has written it yet; corruption_error where
  /// `corruption_checks::state` is asked and a bit of it has changed.
  std::vector<T> get(int t) const;
  std::vector<T> get(const std::string& name) const { return get(tensor(name)); }
  std::vector<std::int32_t> get_index(int t) const;
  std::vector<std::int32_t> get_index(const std::string& name) const { return get_index(tensor(name)); }

  // ---- blocks: what a rank has of a value, row-major in its box (box_of), in the type that is stored ----

  /// Whether the memory of a rank is here.
  bool hosts(int rank) const;
  /// The value that a tensor has between steps. Throws program_error where it has none.
  int home_of(int t) const;
  /// Domain here and below: the rank's memory is here and of the part that has the value. Throws corruption_error as `get`.
  const std::byte* block_of(int value, int rank) const;
  /// Gives a rank its block of a home. A tensor has a value when all blocks of all its homes have.
  void set_block(int value, int rank, std::span<const std::byte> elements);

  /// The i-th monitored number after a run.
  T monitor(int i) const;
  int monitors() const { return lowered_.monitors; }
  /// The mean over the micro-batches of the last `run_step`.
  T loss() const { return loss_; }

  /// Zeros in what the micro-batches of a step are accumulated in; `run_step` begins with it.
  void clear_accumulated();

  // ---- runs; each throws what the world's `run` throws. `watch` is what that takes beside the phases ----

  /// Forward to accumulation of one micro-batch. What is accumulated goes on from what it is.
  template <class... Watch>
  run_result run_micro(const Watch&... watch) {
    return self().run(micro_phases, watch...);
  }
  /// Norm and update. `step` counts from 1. Throws program_error where it does not.
  template <class... Watch>
  run_result run_update(std::int64_t step, const Watch&... watch) {
    check_number_of(step);
    self().set_training_step(step);
    return self().run(update_phases, watch...);
  }
  /// One step of training; `feed(micro_batch)` sets the inputs of each micro-batch before it runs. Throws program_error
  /// where steps of the graph would not train it (no loss, no gradients, no optimizer), and where a gradient of 16 bits is
  /// not finite; `skipped` where the options ask for that instead.
  template <class Feed, class... Watch>
    requires std::is_invocable_v<const Feed&, int>
  run_result run_step(std::int64_t step, const Feed& feed, const Watch&... watch) {
    check_training_step(step);
    const int micro_batches = program().graph.micro_batches;
    const bool in_one_run = detail::runs_as_a_whole(program(), lowered_.watches_gradients);
    clear_accumulated();
    T sum = 0;
    for (int m = 0; m < micro_batches; ++m) {
      {
        const fed_batch now(fed_, m);
        feed(m);
      }
      if (program().unrolled && m + 1 < micro_batches) continue;  // they run together
      self().set_training_step(detail::number_of_call(step, program().unrolled ? 0 : m));
      const run_result result = self().run(in_one_run ? micro_phases | update_phases : micro_phases, watch...);
      if (result == run_result::cancelled) return result;
      sum += sum_of_losses();
    }
    self().set_training_step(step);
    loss_ = sum / static_cast<T>(micro_batches);
    if (in_one_run) return run_result::complete;
    if (!gradients_are_finite()) return run_result::skipped;
    return self().run(update_phases, watch...);
  }
  run_result run_step(std::int64_t step) {
    return run_step(step, [](int) {});
  }

  // ---- what it took ----

  /// Bytes of memory of a tier that a rank has been given, and what the address plan says. Domain: the rank's memory is
  /// here.
  std::int64_t high_water(int rank, int tier = 0) const;
  std::int64_t planned_bytes(int tier = 0) const { return lowered_.addresses.high_water[tier]; }
  std::int64_t alive_maximum(int tier = 0) const { return lowered_.addresses.alive_maximum[tier]; }
  int tiers() const;
  /// What the plan of the memory budget promises; not feasible without a budget.
  const offload_certificate& offloading() const { return lowered_.offloading; }
  /// Bytes that other ranks have brought to the rank, in all complete runs.
  std::int64_t received(int rank) const { return received_[static_cast<std::size_t>(rank)]; }
  /// Of one run of some phases, by level of the links that moves are chosen on: see `hyperparallel::received_by_level`.
  std::vector<std::int64_t> received_by_level(unsigned phases = micro_phases | update_phases) const;

 protected:
  /// The memory of these ranks is here. Throws std::bad_alloc.
  program_values(lowered_program&& l, const std::vector<int>& hosted, overflow_response overflow);
  ~program_values();

  /// Whether floats of type `stored` are read and written as those of the run.
  static constexpr bool is_read_as(data_type stored, data_type run) {
    return run == detail::data_type_of<T> && detail::is_widened(stored, run);
  }
  /// The best value of the tensor that is there: whole rather than waiting terms.
  int value_to_read(int t, data_type type) const;

  /// Before a run that reads these values. Throws program_error.
  void check_reads(const auto& reads) {
    for (const int v : reads)
      if (!valid(program().value[v].storage)) refuse_to_read(v);
  }
  /// From here on what the run writes or takes the addresses of has no value.
  template <class Run>
  void begin_run(const Run& r) {
    for (int s = 0; s < program().storage.size; ++s) valid(s) = valid(s) && !r.writes(s) && r.survives(s);
  }
  /// The run is complete.
  template <class Run>
  void end_run(const Run& r) {
    for (int s = 0; s < program().storage.size; ++s) valid(s) = valid(s) || (r.writes(s) && r.survives(s));
    for (int rank = 0; rank < ranks(); ++rank) received_[static_cast<std::size_t>(rank)] += r.received(rank);
  }

  std::string label(int t) const;

  /// Throws corruption_error where a block of the value is not what was written, if somebody keeps sums.
  void check_bits(int value) const;
  /// Who keeps sums of blocks from here on.
  void keep_sums(detail::block_sums* sums);

  lowered_program lowered_;
  program_slots slots_;
  detail::owned<program_memory> memory_;

 private:
  World& self() { return static_cast<World&>(*this); }
  const World& self() const { return static_cast<const World&>(*this); }
  [[noreturn]] void refuse_to_read(int value) const;
  std::size_t count(int t) const { return static_cast<std::size_t>(elements_of(program().graph.tensor[t])); }
  std::vector<bool>::reference valid(int storage) { return valid_[static_cast<std::size_t>(storage)]; }

  /// While a micro-batch of an unrolled program is fed, its inputs alone are set.
  struct fed_batch {
    fed_batch(int& at, int m) : fed(at) { fed = m; }
    ~fed_batch() { fed = -1; }
    int& fed;
  };

  void set_home(int t, data_type type, const void* whole, std::size_t elements);
  /// Of what the last run was: one micro-batch, or all of an unrolled program.
  T sum_of_losses() const;

  static void check_number_of(std::int64_t step);
  /// Of 16 bits, before an update. Throws program_error where they are not and the step is to stop.
  bool gradients_are_finite() const;
  /// Throws program_error where steps of the graph would not train it: no loss, no gradients, no optimizer.
  void check_training_step(std::int64_t step) const;
  /// Every number in range of what reads it. Throws program_error with the first that is not.
  void check_indices(int t, const std::int32_t* whole) const;
  static std::string place_text(const shape& s, extent_t element);

  graph_status training_{};  ///< why steps would not train
  detail::block_sums* sums_ = nullptr;
  overflow_response overflow_;
  growing_array<int> watched_gradients_;  ///< values that are looked at before an update
  std::vector<index_range> index_range_;  ///< of each tensor of numbers of rows or labels
  std::vector<bool> valid_;               ///< of each storage: it holds a value
  std::vector<std::int64_t> received_;
  T loss_ = 0;
  int fed_ = -1;  ///< the micro-batch whose inputs are set; -1: all
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/world/program_values.ipp>
#endif
