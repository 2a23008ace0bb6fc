// SPDX-License-Identifier: Apache-2.0
#pragma once
// Interleaved zero bubble: interleaved 1F1B whose weight gradients wait, so that ranks warm up in half as many steps.
//
// Laws, for times of a chunk, where P divides m and W ≤ F, I: bubble (P − 1)(F + I − W), peak v · P on every rank.
// References: Qi et al., "Zero Bubble Pipeline Parallelism", 2023; torch's ScheduleInterleavedZeroBubble.

#include <hyperparallel/pipeline/idle_slots.hpp>
#include <hyperparallel/pipeline/schedules/interleaved_rounds.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct interleaved_zero_bubble {
  static constexpr const char* name = "InterleavedZeroBubble";
  static constexpr stage_placement placement = stage_placement::loop;
  static constexpr pipeline_status fits(const pipeline_shape& n) { return detail::check_rounds(n); }
  static constexpr pipeline_period period(const pipeline_shape& n) { return detail::period_of_rounds(n); }
  static constexpr void row(auto& out, const pipeline_shape& n, int rank) {
    const int all = n.chunks * n.micro_batches, warm_up = detail::warm_up_of(n, rank, 1);
    int weights = 0;
    const auto forward = [&](int turn) {
      const detail::interleaved_step at = detail::step_of(n, rank, turn, false);
      out.forward(at.stage, at.micro_batch);
    };
    const auto weight = [&] {
      const detail::interleaved_step at = detail::step_of(n, rank, weights++, true);
      out.weight_gradient(at.stage, at.micro_batch);
    };
    // The weight gradient of a step follows `rank` steps later.
    const auto input = [&](int turn) {
      const detail::interleaved_step at = detail::step_of(n, rank, turn, true);
      out.input_gradient(at.stage, at.micro_batch);
      if (turn >= rank) weight();
    };
    out.idle(rank);
    for (int turn = 0; turn < warm_up; ++turn) forward(turn);
    if (warm_up > 0) out.idle(n.ranks - 1 - rank);
    for (int turn = warm_up; turn < all; ++turn) {
      forward(turn);
      input(turn - warm_up);
    }
    for (int turn = all - warm_up; turn < all; ++turn) input(turn);
    while (weights < all) weight();
  }
  static constexpr void finish(pipeline_schedule& s) { add_idle_slots(s); }
};

}}  // namespace hyperparallel::v0_2
