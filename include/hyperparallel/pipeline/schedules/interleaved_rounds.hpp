// SPDX-License-Identifier: Apache-2.0
#pragma once
// What interleaved schedules share: micro-batches go through the chunks of a rank in rounds.
//
// The first forward steps warm the pipeline up, then forwards and gradients alternate, then the gradients left follow.
// References: Narayanan et al., "Megatron-LM", 2021; torch's _get_1f1b_rank_ops.

#include <hyperparallel/pipeline/schedule.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Micro-batches of a round: torch's m / max(1, ⌊m / P⌋); P where P divides m, as Megatron asks.
constexpr int micro_batches_of_round(const pipeline_shape& n) {
  const int rounds = n.micro_batches / n.ranks;
  return n.micro_batches / (rounds > 1 ? rounds : 1);
}

constexpr pipeline_status check_rounds(const pipeline_shape& n) {
  const int rounds = n.micro_batches / n.ranks;
  if (rounds > 1 && n.micro_batches % rounds != 0)
    return {.code = pipeline_code::micro_batches_do_not_divide, .needed = rounds};
  return {};
}

/// Rows grow by rounds where P divides m; elsewhere rounds themselves grow.
constexpr pipeline_period period_of_rounds(const pipeline_shape& n) {
  return {n.micro_batches % n.ranks == 0 ? n.ranks : 0, 2 * n.ranks};
}

/// The stage and micro-batch of forward step `step`, or of gradient step `step` where `backwards`.
struct interleaved_step {
  int stage = 0, micro_batch = 0;
};
constexpr interleaved_step step_of(const pipeline_shape& n, int rank, int step, bool backwards) {
  const int round = micro_batches_of_round(n), turn = step / round;
  const int chunk = backwards ? n.chunks - 1 - turn % n.chunks : turn % n.chunks;
  return {chunk * n.ranks + rank, turn / n.chunks * round + step % round};
}

/// Forward steps before the first gradient: a round for each chunk but one, and `hops` for each rank behind this one.
constexpr int warm_up_of(const pipeline_shape& n, int rank, int hops) {
  const int steps = (n.chunks - 1) * micro_batches_of_round(n) + hops * (n.ranks - 1 - rank);
  const int all = n.chunks * n.micro_batches;
  return steps < all ? steps : all;
}

}}}  // namespace hyperparallel::v0_2::detail
