// SPDX-License-Identifier: Apache-2.0
#pragma once
// Redistribution on arenas: a planned move carried out between the memories of simulated ranks.
//
//   hp::arena_redistribution move(x::value, y::value, hp::shape{8, 6}, sizeof(float));
//   std::ranges::copy(mine, move.source<float>(rank).begin()); … move.run();
//   move.target<float>(rank)
//
// Laws: after a complete `run` every position's target block is its slice of the tensor, reduced and filled as the plan
// says, and `received(position)` are the bytes that others bring it, those of the plan's certificate. Source blocks
// stay as they are. Positions of the source's and the target's mesh are positions of the plan's first and last step.
//
// The move is proved as a taskflow, one task per step and receiver on its own link, but it is not executed as one: a
// task at a time reads rows that lie far apart in the sources, which halves the speed of memory. What the proof shows
// is that no task of a step writes what another reads or writes; then any order of the copies of a step is right, and
// the one of the copy schedule is the fastest.
//
// The folder transfer/: bytes from memory to memory. Boxes and their copies in the best order (copy_boxes.hpp,
// copy_schedule.hpp), moves as tasks, engines that copy beside computing (copy_engine.hpp). It knows no
// program; tiers/, world/ and mpi/ stand on it.

#include <atomic>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/exec/arena.hpp>
#include <hyperparallel/exec/huge_pages.hpp>
#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/support/owned.hpp>
#include <hyperparallel/transfer/parallel_copy.hpp>
#include <hyperparallel/transfer/step_records.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Where target blocks lie.
enum class target_blocks : unsigned char {
  own,        ///< beside the source blocks
  in_source,  ///< each is a part of its rank's source block, which stays as it is; then nothing moves
};

class arena_redistribution {
 public:
  /// Plans source → target by fewest bytes, proves the plan and allocates the blocks on every position of the mesh.
  /// Throws std::invalid_argument when the planner refuses the pair, the elements need a data_type and have none, or a
  /// target block that is to lie in its source block is not one run of it; arena_error.
  arena_redistribution(const layout_value& source, const layout_value& target, const shape& s, moved_element element,
                       const copy_options& options = {}, target_blocks blocks = target_blocks::own);

  /// The same for any plan.
  explicit arena_redistribution(const planned_tensor& tensor, const copy_options& options = {},
                                target_blocks blocks = target_blocks::own);

  const move_plan& plan() const { return tensor_.plan(); }
  /// Positions of the source's mesh, and of the target's.
  int ranks() const { return tensor_.positions(0); }
  int target_ranks() const { return tensor_.positions(last()); }
  int threads() const { return step_.front()->threads(); }
  /// How the first step's next run stores and fetches.
  copy_way way() const { return step_.front()->way(); }

  /// The position's blocks, row-major in the shape of its slice. T has the element size given at construction.
  template <class T>
  std::span<T> source(int position) const {
    return elements<T>(0, position);
  }
  template <class T>
  std::span<T> target(int position) const {
    return elements<T>(last(), position);
  }

  /// See parallel_copy: `watch` is told bytes of all steps together; a cancelled move may be run again.
  run_result run(const progress& watch = {});
  void cancel() noexcept;
  std::int64_t finished() const;

  /// Bytes that others bring to a position in a complete run.
  std::int64_t received(int position) const { return received_[static_cast<std::size_t>(position)]; }

 private:
  /// Progress of one step as progress of the whole.
  struct part_of_run {
    progress watch;
    std::int64_t before;
    std::int64_t total;
    static void report(void* self, std::int64_t finished, std::int64_t) {
      const part_of_run& part = *static_cast<part_of_run*>(self);
      part.watch.report(part.watch.user, part.before + finished, part.total);
    }
  };

  int last() const { return plan().step_count; }
  std::int64_t total() const;

  machine_shape machine() const;

  void allocate(const planned_flow& planned, bool in_source);

  std::byte* block(int stage, int position) const {
    return block_[static_cast<std::size_t>(stage)][static_cast<std::size_t>(position)];
  }

  template <class T>
  std::span<T> elements(int stage, int position) const {
    if (sizeof(T) != static_cast<std::size_t>(tensor_.element.bytes))
      throw std::invalid_argument("the element type has " + std::to_string(sizeof(T)) + " bytes, the plan " +
                                  std::to_string(tensor_.element.bytes));
    return {reinterpret_cast<T*>(block(stage, position)),
            static_cast<std::size_t>(volume(tensor_.flow.frame(stage, position)))};
  }

  /// The copies and folds of all receivers; keeps what they fill and counts what they receive.
  copy_schedule schedule_of_step(int step);

  /// Where the position's target block lies in its source block.
  std::byte* part_of_source(int position) const;

  planned_tensor tensor_;
  arena_set arenas_;
  detail::light_vector<detail::light_vector<std::byte*>> block_;  ///< by stage and position
  std::vector<std::int64_t> received_;                            ///< by position of the target
  detail::light_vector<std::pair<block_fill, std::byte*>> fills_;
  detail::light_vector<detail::owned<parallel_copy>> step_;
  std::atomic<bool> cancelled_{false};
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/transfer/redistribute.ipp>
#endif
