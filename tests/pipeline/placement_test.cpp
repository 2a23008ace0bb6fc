// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/placement.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

/// The stage of a rank's chunk `chunk`, chunks numbered by their stages. Precondition: the placement has one copy.
constexpr int stage_of_chunk(hp::stage_placement placement, int ranks, int rank, int chunk) {
  return chunk * ranks + (placement == hp::stage_placement::v && chunk % 2 == 1 ? ranks - 1 - rank : rank);
}

TEST(stage_placement, each_rank_has_each_of_its_chunks_once) {
  for (const hp::stage_placement placement : {hp::stage_placement::loop, hp::stage_placement::v})
    for (int ranks = 1; ranks <= 6; ++ranks)
      for (int chunk = 0; chunk < 5; ++chunk)
        for (int rank = 0; rank < ranks; ++rank) {
          const int stage = stage_of_chunk(placement, ranks, rank, chunk);
          EXPECT_EQ(stage / ranks, chunk);
          EXPECT_EQ(hp::rank_of_stage(placement, ranks, stage), rank);
        }
}

TEST(stage_placement, v_turns_without_a_hop_and_goes_by_one_rank_elsewhere) {
  const hp::growing_array<int> v = hp::detail::ranks_of_stages(hp::stage_placement::v, 4, 3);
  ASSERT_EQ(v.size, 12);
  for (int s = 1; s < v.size; ++s) EXPECT_EQ(v[s] - v[s - 1], s % 4 == 0 ? 0 : s < 4 || s >= 8 ? 1 : -1);
  const hp::growing_array<int> loop = hp::detail::ranks_of_stages(hp::stage_placement::loop, 4, 2);
  for (int s = 0; s < loop.size; ++s) EXPECT_EQ(loop[s], s % 4);
}

TEST(stage_placement, both_ways_mirrors_the_first_copies_in_the_second) {
  const hp::growing_array<int> both = hp::detail::ranks_of_stages(hp::stage_placement::both, 4, 1);
  ASSERT_EQ(both.size, 8);
  for (int s = 0; s < 4; ++s) {
    EXPECT_EQ(both[2 * s], s);
    EXPECT_EQ(both[2 * s + 1], 3 - s);
  }
}

}  // namespace
