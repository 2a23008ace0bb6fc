// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work behind the tasks of a lowered program: kernel calls of compute steps, transfers of moves, with all
// addresses.
//
// Law: a compute task calls its operator's kernel with the box of loops that its rank works on and the blocks of its
// values; a move task carries out its receiver's transfers. Items are those of lower_program.hpp. Made once, read by
// all threads; nothing is allocated in a run.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/exec/kernel.hpp>
#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/exec/paced_queue.hpp>
#include <hyperparallel/exec/profile.hpp>
#include <hyperparallel/exec/run_pace.hpp>
#include <hyperparallel/kernels/operator_call.hpp>
#include <hyperparallel/lowering/lowered_program.hpp>
#include <hyperparallel/support/owned.hpp>
#include <hyperparallel/tiles/tile_kernel.hpp>
#include <hyperparallel/transfer/move_task.hpp>
#include <hyperparallel/world/program_error.hpp>
#include <hyperparallel/world/program_memory.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

class task_checks;

/// Throws program_error where an operator's box has another size than the block of its value.
void check_block(const sharded_program& p, const graph_operator& op, int value, int rank, extent_t elements);
std::string name_of_whole_step(const sharded_program& p, int step);
receiver_records records_in_tile(const receiver_records& all, const step_tile& cut, int d, int receiver);

}  // namespace detail

/// How errors call a step.
std::string name_of_step(const sharded_program& p, int step);

namespace detail {

/// The kernel of a compute step, which computes in `computes`; of a tile that of the tile. Throws program_error where its
/// operator has none.
tile_kernel kernel_of_step(const sharded_program& p, int step, kernel_choice choose, data_type computes);

/// The call of a compute step on one rank. Its operator belongs to the program. Throws program_error where the step's
/// placement and the layouts of its values do not agree.
operator_call call_of(const sharded_program& p, const program_memory& memory, int step, int rank);

/// What `rank` receives in row `row` of the move step `step`, whose kind has `pulls`; in a tile what belongs to it.
receiver_records records_of_move(const sharded_program& p, const move_pulls& pulls, int step, int row, int rank);

/// The transfers of a move step, none where it is a detach: of row i and rank r at i · ranks + r.
detail::light_vector<move_task> transfers_of(const sharded_program& p, const program_pulls& pulls,
                                             const program_memory& memory, int step);

}  // namespace detail

/// Of one run of some phases: bytes over each link level of the topology that moves are chosen on, of each row of a move
/// those of the receiver that takes most there, all rows together. Empty without a topology.
std::vector<std::int64_t> received_by_level(const sharded_program& p, const program_pulls& pulls, unsigned phases);

/// When tasks of a run ran last, by their number among those of all ranks: nanoseconds from the first begin on. A task that
/// has not run has worker -1; no others are known.
struct run_record {
  const lowered_run* run = nullptr;
  std::vector<task_record> task{};
};

namespace detail {

/// The work of all steps of a program. Tasks of step s are bound by `bind_step(…, s)`.
class program_tasks {
 public:
  /// `tier_link` is the link each way between tier 0 and a slower one, from tier 1 on; tiers behind its end have none.
  /// Kernels compute in `computes`; blocks of other types are loaded into it.
  program_tasks(const sharded_program& p, const program_pulls& pulls, const program_memory& memory,
                kernel_choice choose, const std::vector<offload_link>& tier_link = {}, bool measured = false,
                data_type computes = data_type::f32);

  /// From here on tasks are carried out with these checks, which must outlive it; none: without.
  void set_checks(detail::task_checks* checks) { checks_ = checks; }

  /// Number of the training step that kernels are told; from 1. Domain: not during a run.
  void set_training_step(std::int64_t step) { training_step_ = step; }

  /// Tasks of a run last what the pace says. Throws program_error where they have no price. Domain: not during a run, and
  /// before its steps are bound.
  void set_pace(const lowered_program& l, const lowered_run& run, const run_pace& pace);

  template <class Executor>
  void bind_step(Executor& executor, int step) {
    step_work& work = *step_[static_cast<std::size_t>(step)];
    executor.bind(step, work.spent.empty() ? work.body() : &program_tasks::timed, &work);
  }
  /// Of each step: picoseconds on one rank, the median of the last runs, in the mean of the ranks. Domain: measured,
  /// not during a run.
  std::vector<std::int64_t> durations() const;
  /// Domain: likewise.
  run_record last_of(const lowered_run& run) const;
  const char* name(int step) const { return step_[static_cast<std::size_t>(step)]->name.c_str(); }
  /// Bytes that others bring to `rank` in one run of the step.
  std::int64_t received(int step, int rank) const;

 private:
  /// The last runs of a task. What disturbs one of them, its first above all, does not change the median.
  struct time_spent {
    static constexpr std::size_t kept = 15;
    std::int64_t nanoseconds[kept] = {};
    std::size_t times = 0;
    std::int64_t begin = 0;  ///< of the last one
    std::int64_t last() const { return nanoseconds[(times - 1) % kept]; }
    std::int64_t median() const {
      std::int64_t sorted[kept] = {};
      const std::size_t count = std::min(times, kept);
      if (count == 0) return 0;
      std::copy_n(nanoseconds, count, sorted);
      std::int64_t* const middle = sorted + (count - 1) / 2;
      std::nth_element(sorted, middle, sorted + count);
      return *middle;
    }
  };
  struct step_work {
    tile_kernel kernel{};
    detail::light_vector<operator_call> call;  ///< of each rank of the part
    detail::light_vector<move_task> move;
    const offload_link* link = nullptr;      ///< of a copy between tiers
    std::int64_t bytes = 0;                  ///< that it copies on each rank
    paced_queue* queue = nullptr;            ///< of each rank
    detail::light_vector<time_spent> spent;  ///< of each item, where it is measured; one thread at a time has it
    std::vector<std::int64_t> lasts;         ///< of each row, nanoseconds, where it has a pace
    paced_queue* pace = nullptr;             ///< then of each rank
    int ranks = 1;                           ///< of the program
    int first_rank = 0, part_ranks = 1;      ///< of the step's part
    int micro_batch = 0;
    const std::int64_t* training_step = nullptr;
    detail::task_checks* const* checks = nullptr;  ///< of all steps
    int step = 0;
    std::string name;

    /// Where an item's call or transfers are.
    std::size_t place_of(int item) const {
      return static_cast<std::size_t>(item / ranks * part_ranks + item % ranks - first_rank);
    }

    void (*body() const)(const kernel_call&) { return !lasts.empty() ? &program_tasks::paced : own_body(); }
    void (*own_body() const)(const kernel_call&) {
      return link != nullptr && lasts.empty() ? &program_tasks::paced_copy
             : call.empty()                   ? &program_tasks::move
                                              : &program_tasks::compute;
    }
  };

  static void compute(const kernel_call& c);
  static void timed(const kernel_call& c);
  static void paced(const kernel_call& c);
  static void paced_copy(const kernel_call& c);
  static void move(const kernel_call& c);

  void pace_copies(const sharded_program& p, int step, step_work& work);

  std::size_t ranks_;
  std::vector<offload_link> link_;
  detail::light_vector<paced_queue> copies_;  ///< of each rank, towards tier 0, then away from it
  detail::light_vector<paced_queue> paced_;   ///< of each kind of queue and rank, where a run has a pace
  detail::light_vector<detail::owned<step_work>> step_;
  std::int64_t training_step_ = 1;
  detail::task_checks* checks_ = nullptr;
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/world/program_tasks.ipp>
#endif
