// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/message_places.hpp>

#include <hyperparallel/pipeline/schedule_list.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace hp = hyperparallel;

namespace {

/// Each message that two ranks exchange has numbers of its own, in the memory that `end` says; both ends know them.
TEST(message_places, numbers_partition_the_memories) {
  for (const hp::named_schedule& named : hp::schedule_table.item)
    for (int ranks = 1; ranks <= 4; ++ranks)
      for (int chunks = 1; chunks <= 3; ++chunks) {
        const hp::pipeline_shape n{ranks, chunks, 2 * ranks};
        if (!named.check(n).ok()) continue;
        const hp::pipeline_schedule s = named.generate(n, false);
        const int share = s.share(), step = s.copies, all = s.stages * step;
        for (const bool links : {false, true}) {
          const hp::detail::message_places<hp::growing_pipeline_sizes> at(s, links);
          hp::taskflow_size size;
          hp::detail::count_pipeline(size, s, links);
          std::vector<int> owner(static_cast<std::size_t>(size.events), -1);
          const auto take = [&](int first, int rank) {
            for (int k = first; k < first + share; ++k) {
              EXPECT_EQ(owner.at(static_cast<std::size_t>(k)), -1);
              owner[static_cast<std::size_t>(k)] = rank;
            }
          };
          for (int hop = 0; hop < 2 * all; ++hop) {
            const int here = hop % all, other = hop < all ? here + step : here - step;
            const bool exists = other >= 0 && other < all && s.rank_of_stage[other] != s.rank_of_stage[here];
            ASSERT_EQ(at.arriving[hop] >= 0, exists);
            ASSERT_EQ(at.written[hop] >= 0, exists);
            if (!exists) continue;
            EXPECT_EQ(at.read[hop < all ? hop + step : hop - step], at.arriving[hop]);
            take(at.arriving[hop], s.rank_of_stage[other]);
            if (links) take(at.written[hop], s.rank_of_stage[here]);
            EXPECT_EQ(at.written[hop] == at.arriving[hop], !links);
          }
          for (int i = 0, r = 0; i < size.events; ++i) {
            while (i == at.end[r]) ++r;
            EXPECT_EQ(owner[static_cast<std::size_t>(i)], r);
          }
        }
      }
}

}  // namespace
