// SPDX-License-Identifier: Apache-2.0
#pragma once
// GPipe: all forwards, then all backwards.
//
// Laws, for times F and B: bubble (P − 1)(F + B), peak m on every rank.
// References: Huang et al., "GPipe", 2019; idle slots as torch.distributed.pipelining writes them (ScheduleGPipe).

#include <hyperparallel/pipeline/schedule.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct gpipe {
  static constexpr const char* name = "GPipe";
  static constexpr stage_placement placement = stage_placement::loop;
  static constexpr pipeline_status fits(const pipeline_shape& n) { return detail::check_chunks(n, 1); }
  static constexpr void row(auto& out, const pipeline_shape& n, int rank) {
    out.idle(rank);
    for (int k = 0; k < n.micro_batches; ++k) out.forward(rank, k);
    out.idle(3 * (n.ranks - 1 - rank));
    for (int k = 0; k < n.micro_batches; ++k) out.backward(rank, k);
  }
};

}}  // namespace hyperparallel::v0_2
