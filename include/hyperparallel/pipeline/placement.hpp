// SPDX-License-Identifier: Apache-2.0
#pragma once
// On which rank each stage of a pipeline lies. Stages are numbered from the model's input; a rank holds `chunks` of them.
//
// A bidirectional pipeline holds each stage twice, on two ranks: micro-batches of the first half run through the first
// copies, those of the second half through the second ones, which lie the other way round.

#include <hyperparallel/support/growing_array.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class stage_placement : unsigned char {
  loop,    ///< stage s on rank s mod P (Megatron's virtual stages)
  v,       ///< there and back: 0 … P − 1, P − 1 … 0, and so on
  listed,  ///< given, stage by stage
  both,    ///< both ways: the first copy of stage s on rank s mod P, the second one on P − 1 − s mod P
};

/// How often each stage is held.
constexpr int copies_of_stages(stage_placement placement) { return placement == stage_placement::both ? 2 : 1; }

/// The rank of a copy of `stage` among `ranks`. Precondition: `placement` is not `listed`, and has this copy.
constexpr int rank_of_stage(stage_placement placement, int ranks, int stage, int copy = 0) {
  const int turn = stage / ranks, place = stage % ranks;
  return copy == 1 || (placement == stage_placement::v && turn % 2 == 1) ? ranks - 1 - place : place;
}

namespace detail {

/// The rank of each of `ranks · chunks` stages; copies of a stage beside each other.
constexpr growing_array<int> ranks_of_stages(stage_placement placement, int ranks, int chunks) {
  growing_array<int> rank;
  const int copies = copies_of_stages(placement);
  rank.reserve(ranks * chunks * copies);
  for (int s = 0; s < ranks * chunks; ++s)
    for (int copy = 0; copy < copies; ++copy) rank.push(rank_of_stage(placement, ranks, s, copy));
  return rank;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
