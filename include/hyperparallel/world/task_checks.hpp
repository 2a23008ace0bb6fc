// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tasks of a program carried out with checks (corruption_checks.hpp): twice into other memory, and between checksums.
//
// A task that is repeated runs on the same operands again, into memory of its thread; operands that its results replace are
// kept before it. Which tasks are repeated goes round from step to step. Sums of what it writes are taken right behind the
// task, and before the comparison; operands are compared behind it, so that one that changes meanwhile is found as well, and
// before it where they are replaced, or are numbers of rows that a kernel goes by. Sources of a move are compared behind it.
//
// Laws: a bit that a kernel or a copy sets wrongly is found by the task that sets it, whether in the first run or in the
// second; one that changes between the end of its writer and the end of a reader is found by that reader. Tasks touch no memory that
// they would not without checks, but for their threads' own. Where a task is not repeated and has no sums, it costs a test.

#include <cstddef>
#include <cstdint>

#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/kernels/operator_call.hpp>
#include <hyperparallel/lowering/lowered_program.hpp>
#include <hyperparallel/tiles/tile_kernel.hpp>
#include <hyperparallel/transfer/move_task.hpp>
#include <hyperparallel/world/block_sums.hpp>
#include <hyperparallel/world/corruption_checks.hpp>
#include <hyperparallel/world/program_memory.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class task_checks {
 public:
  /// What is given must outlive it. Throws program_error for a share below 1.
  task_checks(const sharded_program& p, const program_pulls& pulls, const program_slots& s,
              const program_memory& memory, const corruption_checks& checks);

  /// The call of a compute step on one rank, in training step `number`. Throws what the kernel throws, corruption_error.
  void compute(int step, int rank, std::int64_t number, const tile_kernel& kernel, const operator_call& call);
  /// The transfers of a row of a move on one rank. Throws corruption_error.
  void move(int step, int row, int rank, std::int64_t number, const move_task& task);

  /// A row of a move whose parts others carry out, as processes do. Whether anything is to be done;
  bool checks_moves() const { return checks_.moves || checks_.state; }
  /// sums of what it wrote to the ranks here; of what it read of them; those of what it was to write are no more.
  void take_move(int step, int row);
  void check_move(int step, int row) const;
  void forget_move(int step, int row);
  /// Whether what a rank got is to be brought once more; brings it into other memory, and compares. Throw corruption_error.
  bool repeats_move(int step, int rank, std::int64_t number) const {
    return checks_.moves && is_repeated(step, rank, number);
  }
  void repeat_move(int step, int rank, const move_task& task) const;
  /// What a move brought to a rank is another thing. `byte` of the rank's block, or -1.
  [[noreturn]] void refuse_move(int step, int rank, std::int64_t byte) const {
    refuse(program_.move[program_.step[step].index].target, rank, byte);
  }

  /// None where `corruption_checks::state` is not asked.
  block_sums* sums() { return checks_.state ? &sums_ : nullptr; }

 private:
  /// What a compute step does on one rank.
  struct compute_uses {
    light_vector<block_sums::list> before, after, written;
    light_vector<byte_run> result[max_results], replaced[max_results];
    int operand[max_results];  ///< that the result replaces, or -1
  };
  struct move_uses {
    light_vector<block_sums::list> read;
    block_sums::list written;  ///< none where a later row writes there too
  };

  void add_compute(int step, const program_memory& memory);
  void add_move(int step, const program_pulls& pulls, const program_slots& s);
  /// Of all ranks in a row of a move, each piece once.
  block_sums::list pieces_of_row(int step, int row, bool written) const;
  bool is_repeated(int step, int rank, std::int64_t number) const;
  /// Throws corruption_error.
  [[noreturn]] void refuse(int value, int rank, std::int64_t byte) const;

  const sharded_program& program_;
  corruption_checks checks_;
  block_sums sums_;
  int ranks_;
  light_vector<light_vector<compute_uses>> compute_;  ///< of each step, and rank of its part
  light_vector<light_vector<move_uses>> move_;        ///< of each step: of each row, and rank of its part
};

}}}  // namespace hyperparallel::v0_2::detail

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/world/task_checks.ipp>
#endif
