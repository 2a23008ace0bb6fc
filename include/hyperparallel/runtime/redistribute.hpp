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

#include <atomic>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <hyperparallel/program/planned_flow.hpp>
#include <hyperparallel/runtime/arena.hpp>
#include <hyperparallel/runtime/huge_pages.hpp>
#include <hyperparallel/runtime/parallel_copy.hpp>
#include <hyperparallel/runtime/step_copies.hpp>

namespace hyperparallel {

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
                       const copy_options& options = {}, target_blocks blocks = target_blocks::own)
      : arena_redistribution(planned_tensor(source, target, s, element), options, blocks) {}

  /// The same for any plan.
  explicit arena_redistribution(const planned_tensor& tensor, const copy_options& options = {},
                                target_blocks blocks = target_blocks::own)
      : tensor_(tensor) {
    if (plan().code != move_code::ok)
      throw std::invalid_argument("the planner refuses this redistribution, code " +
                                  std::to_string(static_cast<int>(plan().code)));
    if (plan().step_count == 0) throw std::invalid_argument("the plan has no step, so it does not name its layouts");
    if (!tensor_.element.has_type && tensor_.needs_type())
      throw std::invalid_argument("the plan reduces or fills, which needs the element's data_type");
    const planned_flow planned(tensor_.flow, machine(), {});
    const verify_status safe = planned.verify();
    if (safe.code != verify_code::ok) throw std::invalid_argument(to_text(safe.code));
    for (int b = 1; b < tensor_.stages(); ++b)
      if (static_cast<std::size_t>(tensor_.positions(b)) > received_.size())
        received_.resize(static_cast<std::size_t>(tensor_.positions(b)));
    allocate(planned, blocks == target_blocks::in_source);
    if (blocks == target_blocks::own) {
      for (int i = 0; i < plan().step_count; ++i)
        step_.push_back(std::make_unique<parallel_copy>(
            copies_of_step(
                tensor_, i, [this](int stage, int p) { return block(stage, p); }, received_.data())
                .schedule(),
            options));
      return;
    }
    step_.push_back(std::make_unique<parallel_copy>(copy_schedule{}, options));
  }

  const move_plan& plan() const { return tensor_.plan(); }
  /// Positions of the source's mesh, and of the target's.
  int ranks() const { return tensor_.positions(0); }
  int target_ranks() const { return tensor_.positions(last()); }
  int threads() const { return step_.front()->threads(); }

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
  run_result run(const progress& watch = {}) {
    cancelled_.store(false, std::memory_order_relaxed);
    fill();
    part_of_run part{watch, 0, total()};
    for (const std::unique_ptr<parallel_copy>& step : step_) {
      progress seen = watch;
      if (watch.report != nullptr) {
        seen.report = &part_of_run::report;
        seen.user = &part;
      }
      if (step->run(seen) == run_result::cancelled || cancelled_.load(std::memory_order_relaxed))
        return run_result::cancelled;
      part.before += step->schedule().bytes();
    }
    return run_result::complete;
  }
  void cancel() noexcept {
    cancelled_.store(true, std::memory_order_relaxed);
    for (const std::unique_ptr<parallel_copy>& step : step_) step->cancel();
  }
  std::int64_t finished() const {
    std::int64_t sum = 0;
    for (const std::unique_ptr<parallel_copy>& step : step_) sum += step->finished();
    return sum;
  }

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
  std::int64_t total() const {
    std::int64_t bytes = 0;
    for (const std::unique_ptr<parallel_copy>& step : step_) bytes += step->schedule().bytes();
    return bytes;
  }

  machine_shape machine() const {
    machine_shape m;
    for (int b = 0; b < tensor_.stages(); ++b)
      for (int p = 0; p < tensor_.positions(b); ++p)
        if (tensor_.flow.rank_of(b, p) >= m.ranks) m.ranks = tensor_.flow.rank_of(b, p) + 1;
    m.queues[static_cast<int>(resource::link)] = 1;
    return m;
  }

  void allocate(const planned_flow& planned, bool in_source) {
    const dynamic_taskflow& flow = planned.flow();
    std::int64_t bytes[] = {0};
    for (int i = 0; i < flow.size.slots; ++i)
      if (!in_source || i < tensor_.positions(0)) bytes[0] = larger(bytes[0], flow.slot[i].offset + flow.slot[i].bytes);
    const int ranks = planned.schedule().machine.ranks;
    arenas_ = arena_set(ranks, bytes);
    for (int r = 0; r < ranks; ++r) prefer_huge_pages(arenas_.address(r, 0, 0), bytes[0]);
    for (int b = 0, i = 0; b < tensor_.stages(); ++b) {
      block_.emplace_back();
      for (int p = 0; p < tensor_.positions(b); ++p, ++i) {
        if (in_source && b > 0) {
          block_.back().push_back(part_of_source(p));
          continue;
        }
        arenas_.place(flow.slot[i]);
        block_.back().push_back(arenas_.address(flow.slot[i]));
      }
    }
  }

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

  /// Writes identities where a step does not bring every element.
  void fill() const {
    for (int i = 0; i < plan().step_count; ++i) {
      const move_step& step = plan().step[i];
      if (step.filled == 0 || step.kind == step_kind::collect) continue;
      const reduce_op op = values_of(step, tensor_.element.type).fill;
      for (int p = 0; p < tensor_.positions(i + 1); ++p) {
        const extent_t n = volume(tensor_.flow.frame(i + 1, p));
        std::memset(block(i + 1, p), 0, static_cast<std::size_t>(n * tensor_.element.bytes));
        write_identity(op, tensor_.element.type, n, block(i + 1, p));
      }
    }
  }

  /// Where the position's target block lies in its source block.
  std::byte* part_of_source(int position) const {
    const move_step& step = plan().step[0];
    const step_receiver r = receiver_of(step, plan().shape, position);
    const box held = tensor_.flow.frame(0, position), wanted = tensor_.flow.frame(1, position);
    const bool keeps = plan().step_count == 1 && r.terms == 1 && step.filled == 0 && step.target_ranks.count == 0;
    const strided_copy run = keeps && intersection(held, wanted) == wanted
                                 ? flatten(copy_between(held, wanted, wanted, tensor_.element.bytes))
                                 : strided_copy{1};
    if (run.dims > 0)
      throw std::invalid_argument("the target block of rank " + std::to_string(position) +
                                  " is not one run of its source block, so the move cannot be done in place");
    return block(0, position) + run.source_start;
  }

  planned_tensor tensor_;
  arena_set arenas_;
  std::vector<std::vector<std::byte*>> block_;  ///< by stage and position
  std::vector<std::int64_t> received_;          ///< by position of the target
  std::vector<std::unique_ptr<parallel_copy>> step_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace hyperparallel
