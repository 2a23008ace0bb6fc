// SPDX-License-Identifier: Apache-2.0
#pragma once
// Looped breadth-first: all micro-batches through a chunk before the rank's next chunk; backwards in reverse.
//
// Law: peak v · m on every rank.
// References: Lamy-Poirier, "Breadth-First Pipeline Parallelism", 2022; torch's ScheduleLoopedBFS.

#include <hyperparallel/pipeline/schedule.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct looped_breadth_first {
  static constexpr const char* name = "LoopedBFS";
  static constexpr stage_placement placement = stage_placement::loop;
  static constexpr pipeline_status fits(const pipeline_shape&) { return {}; }
  static constexpr void row(auto& out, const pipeline_shape& n, int rank) {
    out.idle(rank);
    for (int c = 0; c < n.chunks; ++c)
      for (int k = 0; k < n.micro_batches; ++k) out.forward(c * n.ranks + rank, k);
    out.idle(2 * (n.ranks - 1 - rank));
    for (int c = n.chunks - 1; c >= 0; --c)
      for (int k = n.micro_batches - 1; k >= 0; --k) out.backward(c * n.ranks + rank, k);
  }
};

}}  // namespace hyperparallel::v0_2
