// SPDX-License-Identifier: Apache-2.0
#pragma once
// ZB-V: two chunks a rank, there and back, I and W apart: no bubble of the span at the memory of 1F1B.
//
// Laws, where F = I = W and m ≥ 2P − 1: bubble of the span 0, of the makespan (P − 1) F; peak 2P chunks on every rank.
// With fewer micro-batches it is the schedule of 2P − 1 of them without those that do not exist.
// References: Qi et al., "Pipeline Parallelism with Controllable Memory", 2024; torch's ScheduleZBVZeroBubble.

#include <hyperparallel/pipeline/schedule.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct zero_bubble_v {
  static constexpr const char* name = "ZB-V";
  static constexpr stage_placement placement = stage_placement::v;
  static constexpr pipeline_status fits(const pipeline_shape& n) { return detail::check_chunks(n, 2); }
  static constexpr pipeline_period period(const pipeline_shape& n) { return {1, 2 * n.ranks - 1}; }
  static constexpr void row(auto& out, const pipeline_shape& n, int rank) {
    const int ranks = n.ranks, least = 2 * ranks - 1, all = n.micro_batches < least ? least : n.micro_batches;
    const int near = rank, far = 2 * ranks - 1 - rank;   // the stages of this rank
    int f0 = 0, f1 = 0, i0 = 0, i1 = 0, w0 = 0, w1 = 0;  // the next F, I and W of each
    out.idle(rank);
    while (f0 < 2 * (ranks - rank) - 1) out.forward(near, f0++);
    while (f1 < rank) {
      out.forward(far, f1++);
      out.forward(near, f0++);
    }
    while (i1 < ranks - rank) {
      out.forward(far, f1++);
      out.input_gradient(far, i1++);
      out.weight_gradient(far, w1++);
    }
    while (f1 < f0 || f0 < all) {
      if (f0 < all) out.forward(near, f0++);
      out.input_gradient(near, i0++);
      out.weight_gradient(near, w0++);
      out.forward(far, f1++);
      out.input_gradient(far, i1++);
      out.weight_gradient(far, w1++);
    }
    for (int i = 0; i < rank; ++i) {
      out.input_gradient(near, i0++);
      out.input_gradient(far, i1++);
    }
    for (int i = rank; i < ranks; ++i) {
      out.input_gradient(near, i0++);
      out.weight_gradient(near, w0++);
    }
    while (w1 < i1) out.weight_gradient(far, w1++);
    while (w0 < i0) out.weight_gradient(near, w0++);
  }
};

}}  // namespace hyperparallel::v0_2
