// SPDX-License-Identifier: Apache-2.0
#pragma once
// On which rank each stage of a pipeline lies. Stages are numbered from the model's input; a rank holds `chunks` of them.

#include <hyperparallel/support/growing_array.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class stage_placement : unsigned char {
  loop,    ///< stage s on rank s mod P (Megatron's virtual stages)
  v,       ///< there and back: 0 … P − 1, P − 1 … 0, and so on
  listed,  ///< given, stage by stage
};

/// The rank of `stage` among `ranks`. Precondition: `placement` is not `listed`.
constexpr int rank_of_stage(stage_placement placement, int ranks, int stage) {
  const int turn = stage / ranks, place = stage % ranks;
  return placement == stage_placement::v && turn % 2 == 1 ? ranks - 1 - place : place;
}

/// The stage of a rank's chunk `chunk`, chunks numbered by their stages.
constexpr int stage_of_chunk(stage_placement placement, int ranks, int rank, int chunk) {
  return chunk * ranks + (placement == stage_placement::v && chunk % 2 == 1 ? ranks - 1 - rank : rank);
}

/// The rank of each of `ranks · chunks` stages.
constexpr growing_array<int> ranks_of_stages(stage_placement placement, int ranks, int chunks) {
  growing_array<int> rank;
  rank.reserve(ranks * chunks);
  for (int s = 0; s < ranks * chunks; ++s) rank.push(rank_of_stage(placement, ranks, s));
  return rank;
}

}}  // namespace hyperparallel::v0_2
