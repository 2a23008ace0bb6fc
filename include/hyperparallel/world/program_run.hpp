// SPDX-License-Identifier: Apache-2.0
#pragma once
// Some phases of a program as a plan that has been proved safe and is ready to run.
//
// The plan is that of the class of ranks, proved when it was lowered (lowering/lowered_program.hpp). The threads read the
// same plan expanded to all ranks. Laws: a run changes the storages for which `writes` is true, and loses the values of
// those for which `survives` is false. Names in errors are those of operators and tensors.

#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/exec/executor.hpp>
#include <hyperparallel/lowering/lowered_program.hpp>
#include <hyperparallel/support/owned.hpp>
#include <hyperparallel/world/program_tasks.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class program_run {
 public:
  /// The program and `tasks` have to outlive it.
  program_run(const sharded_program& p, const lowered_run& run, program_tasks& tasks, const executor_options& options);

  unsigned phases() const { return phases_; }
  int tasks() const { return executor_->tasks(); }
  int threads() const { return executor_->threads(); }
  /// See executor.
  run_result run(const progress& watch) { return executor_->run(watch); }
  void cancel() noexcept { executor_->cancel(); }

  /// Values that have to be there before a run.
  const growing_array<int>& reads() const { return reads_; }
  bool survives(int storage) const { return survives_[storage]; }
  bool writes(int storage) const { return writes_[storage]; }
  /// Bytes that others bring to a rank in one run.
  std::int64_t received(int rank) const { return received_[static_cast<std::size_t>(rank)]; }

 private:
  void name_steps(const sharded_program& p, const program_tasks& tasks);

  unsigned phases_;
  std::vector<const char*> operation_, written_;  ///< of each step
  growing_array<bool> survives_, writes_;         ///< of each storage
  std::vector<std::int64_t> received_;            ///< of each rank
  growing_array<int> reads_;
  detail::owned<executor<>> executor_;
};

}}}  // namespace hyperparallel::v0_2::detail

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/world/program_run.ipp>
#endif
