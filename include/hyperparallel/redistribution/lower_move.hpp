// SPDX-License-Identifier: Apache-2.0
#pragma once
// A move as a taskflow: one task per step and receiver on its rank's link, which carries out that receiver's transfers.
//
// Block b of a move is what lies between step b − 1 and step b: block 0 the source, the last one the target. Slot
// first_slot(b) + p is position p's part of it; the blocks of a rank lie side by side in one tier. A task of a later
// step waits for each sender's task of the step before, its own rank's too: which of a rank's tasks its link runs first
// is the schedule's to say.
// A move between meshes is lowered alike, each block on the ranks of its own side.
// Laws: the accesses name every sender whose block a receiver reads, so the verifier sees each one-sided read; the
// bytes of the tasks add up to the certificate's received_total.

#include <hyperparallel/redistribution/relocation.hpp>
#include <hyperparallel/taskflow/builder.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A planned move with everything that its tasks and kernels need. Domain: `plan.code` is ok, plan.step_count > 0.
struct move_flow {
  move_plan plan{};
  int element_bytes = 4;
  std::int64_t picoseconds_per_byte = 0;  ///< of a link, for schedules and simulation

  constexpr int blocks() const { return plan.step_count + 1; }
  /// Whose positions a block has: those of the source until values are passed on, then those of the target.
  constexpr bool lies_at_source(int block) const { return block == 0 || receives_at_source(plan.step[block - 1]); }
  constexpr const move_step& step_of(int block) const { return plan.step[block == 0 ? 0 : block - 1]; }
  constexpr const mesh_shape& mesh_of(int block) const {
    return lies_at_source(block) ? step_of(block).source.mesh : step_of(block).target.mesh;
  }
  /// The box that frames position p's part of a block.
  constexpr box frame(int block, int p) const {
    return block == 0 ? source_frame(plan.step[0], plan.shape, p) : target_frame(plan.step[block - 1], plan.shape, p);
  }
  /// The rank of a position of a block.
  constexpr int rank_of(int block, int p) const {
    const rank_list& list = lies_at_source(block) ? step_of(block).source_ranks : step_of(block).target_ranks;
    return list.count > 0 ? rank_at(list, p) : p;
  }
  constexpr int first_slot(int block) const {
    int first = 0;
    for (int b = 0; b < block; ++b) first += position_count(mesh_of(b));
    return first;
  }

  /// Bytes of the largest part of a block, a multiple of a cache line. O(positions · (dims + cuts)).
  constexpr std::int64_t pitch(int block) const {
    extent_t most = 0;
    for (int p = 0; p < position_count(mesh_of(block)); ++p) most = larger(most, volume(frame(block, p)));
    return ceil_divide(most * element_bytes, 64) * 64;
  }

  /// Writes the flow. O(steps · positions · transfers of a receiver).
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    std::int64_t offset = 0;
    for (int b = 0; b < blocks(); ++b) {
      const std::int64_t bytes = pitch(b);
      for (int p = 0; p < position_count(mesh_of(b)); ++p) add_slot(f, rank_of(b, p), 0, offset, bytes);
      offset += bytes;
    }
    int done = 0;  // the event of position 0 in the step before
    for (int i = 0; i < plan.step_count; ++i) {
      const bool passes_on = i + 1 < plan.step_count;
      int signals = 0;
      for (int p = 0; passes_on && p < position_count(mesh_of(i + 1)); ++p) {
        const int event = add_event(f, rank_of(i + 1, p));
        if (p == 0) signals = event;
      }
      for (int p = 0; p < position_count(mesh_of(i + 1)); ++p) {
        add_receiver(f, i, p, done);
        if (passes_on) add_signal(f, signals + p);
      }
      done = signals;
    }
  }

 private:
  template <class Flow>
  constexpr void add_receiver(Flow& f, int i, int p, int done) const {
    const move_step& step = plan.step[i];
    const step_receiver r = receiver_of(step, plan.shape, p);
    extent_t pulled = 0;
    for (extent_t k = 0; k < r.transfers; ++k) {
      const transfer t = transfer_at(step, r, k);
      if (!detail::is_own(r, t)) pulled += volume(t.part);
    }
    add_task(f, resource::link, rank_of(i + 1, p), pulled * element_bytes * picoseconds_per_byte, i, p);
    const int from = first_slot(i);
    int last = -1;
    for (extent_t k = 0; k < r.transfers; ++k) {
      const transfer t = transfer_at(step, r, k);
      if (volume(t.part) == 0 || t.sender == last) continue;
      last = t.sender;
      if (i > 0) add_wait(f, done + t.sender);
      add_access(f, from + t.sender, 0, 1, access_mode::read);
    }
    add_access(f, first_slot(i + 1) + p, 0, 1, access_mode::write);
  }
};

}}  // namespace hyperparallel::v0_2
