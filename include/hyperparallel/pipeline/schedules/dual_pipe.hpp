// SPDX-License-Identifier: Apache-2.0
#pragma once
// DualPipe: micro-batches enter at both ends of the pipeline, half of them at each; the forward of one direction runs
// together with the backward of the other. Each stage lies on two ranks, so parameters are held twice. It is DualPipeV with
// the way back unfolded onto ranks of its own.
//
// Laws, for P even and m even, m ≥ 2P, where m counts both directions: peak P + 1 stages on every rank. Where W ≤ F, I and
// the time of a pair F‖B ≥ F, B, the most idle rank idles (P / 2 − 1) x with x = F‖B + B − 3W, as published, where F = I;
// x = F‖B + F − 2W where I < F; and something between these where I > F. The makespan is that of DualPipeV on P / 2 ranks
// with m / 2 micro-batches.
// Reference: DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, and DualPipe.

#include <hyperparallel/pipeline/schedules/dual_pipe_v.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct dual_pipe {
  static constexpr const char* name = "DualPipe";
  static constexpr stage_placement placement = stage_placement::both;
  static constexpr pipeline_status fits(const pipeline_shape& n) {
    const pipeline_status status = detail::check_mirrored_ranks(n);
    if (status.ok() && n.micro_batches < 2 * n.ranks)
      return {.code = pipeline_code::too_few_micro_batches, .needed = 2 * n.ranks};
    return status;
  }
  /// Ranks of the second half do what their mirror images do, with the directions exchanged.
  static constexpr void row(auto& out, const pipeline_shape& n, int rank) {
    const int half = n.ranks / 2, share = n.micro_batches / 2, first = rank < half ? 0 : share;
    const int near = rank < half ? rank : n.ranks - 1 - rank;
    detail::write_dual_pipe_row(out, half, near, share, {first, share - first});
  }
};

}}  // namespace hyperparallel::v0_2
