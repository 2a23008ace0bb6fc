// SPDX-License-Identifier: Apache-2.0
#pragma once
// Interleaved 1F1B: v chunks a rank, in rounds of P micro-batches.
//
// Laws, for times F and B of a chunk, where P divides m: bubble (P − 1)(F + B); peak of rank r
// min(m · v, (v − 1) P + 2 (P − 1 − r) + 1).
// References: Narayanan et al., "Megatron-LM", 2021; torch's ScheduleInterleaved1F1B.

#include <hyperparallel/pipeline/schedules/interleaved_rounds.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct interleaved_1f1b {
  static constexpr const char* name = "Interleaved1F1B";
  static constexpr stage_placement placement = stage_placement::loop;
  static constexpr pipeline_status fits(const pipeline_shape& n) { return detail::check_rounds(n); }
  static constexpr pipeline_period period(const pipeline_shape& n) { return detail::period_of_rounds(n); }
  static constexpr void row(auto& out, const pipeline_shape& n, int rank) {
    const int all = n.chunks * n.micro_batches, warm_up = detail::warm_up_of(n, rank, 2);
    const auto forward = [&](int turn) {
      const detail::interleaved_step at = detail::step_of(n, rank, turn, false);
      out.forward(at.stage, at.micro_batch);
    };
    const auto backward = [&](int turn) {
      const detail::interleaved_step at = detail::step_of(n, rank, turn, true);
      out.backward(at.stage, at.micro_batch);
    };
    out.idle(rank);
    for (int turn = 0; turn < warm_up; ++turn) forward(turn);
    // The first backward comes back to this rank then.
    out.idle(n.chunks * n.ranks + 2 * (n.ranks - 1 - rank) - warm_up - rank);
    for (int turn = warm_up; turn < all; ++turn) {
      forward(turn);
      backward(turn - warm_up);
    }
    for (int turn = all - warm_up; turn < all; ++turn) {
      out.idle();
      backward(turn);
    }
  }
};

}}  // namespace hyperparallel::v0_2
