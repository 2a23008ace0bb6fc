// SPDX-License-Identifier: Apache-2.0
// Which way a move goes, by the times of its first runs on simulated processors.

#include <hyperparallel/transfer/copy_way.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace {

namespace hp = hyperparallel;

constexpr std::int64_t MiB = std::int64_t{1} << 20;
const std::array<hp::copy_way, 3> ways{hp::cached_copy, hp::streaming_copy, hp::detail::streaming_ahead};

std::size_t index_of(const hp::copy_way& w) {
  return static_cast<std::size_t>(std::find(ways.begin(), ways.end(), w) - ways.begin());
}

/// Lets a choice go through its first runs on a processor with these times by way; `first` is added to the very first.
int settle(hp::way_choice& choice, const std::array<std::int64_t, 3>& time, std::int64_t first = 0) {
  int runs = 0;
  for (; !choice.settled(); ++runs) choice.took(time[index_of(choice.next())] + (runs == 0 ? first : 0));
  return runs;
}

TEST(CopyWay, TheFastestWayStaysUnlessTheRulesIsAboutAsFast) {
  if (!hp::detail::has_streaming_stores) GTEST_SKIP() << "one way only";
  const std::int64_t half = hp::detail::last_level_cache_bytes() / 2;
  for (const std::int64_t bytes : {std::max(4 * MiB, half - 1), std::max(4 * MiB, half), 8 * half}) {
    const bool streams = hp::stores_for(bytes) == hp::store_kind::streaming;
    for (const std::int64_t a : {800, 940, 1000, 1070, 1300})
      for (const std::int64_t b : {800, 940, 1000, 1070, 1300})
        for (const std::int64_t c : {800, 940, 1000, 1070, 1300}) {
          hp::way_choice choice(bytes);
          const hp::copy_way rule = choice.next();
          EXPECT_EQ(rule, streams ? hp::detail::streaming_ahead : hp::cached_copy);
          const std::array<std::int64_t, 3> time{a, b, c};
          EXPECT_EQ(settle(choice, time, 100'000), 1 + 3 * hp::way_choice::runs_of_a_way);
          const std::int64_t best = std::min({a, b, c}), of_rule = time[index_of(rule)],
                             of_choice = time[index_of(choice.next())];
          if (best < of_rule - of_rule / 16)
            EXPECT_EQ(of_choice, best);
          else
            EXPECT_EQ(choice.next(), rule);
          const hp::copy_way settled = choice.next();
          choice.took(1'000'000);
          EXPECT_EQ(choice.next(), settled);
        }
  }
}

TEST(CopyWay, ARunThatWasDisturbedOnceDoesNotCount) {
  if (!hp::detail::has_streaming_stores) GTEST_SKIP() << "one way only";
  for (std::size_t fastest = 0; fastest < ways.size(); ++fastest)
    for (int disturbed = 0; disturbed <= 3 * hp::way_choice::runs_of_a_way; ++disturbed) {
      hp::way_choice choice(64 * MiB);
      for (int run = 0; !choice.settled(); ++run)
        choice.took((index_of(choice.next()) == fastest ? 700 : 1000) + (run == disturbed ? 5000 : 0));
      EXPECT_EQ(index_of(choice.next()), fastest) << disturbed;
    }
}

TEST(CopyWay, SmallMovesAndThoseWithAThresholdOfTheirCallerAreNotMeasured) {
  EXPECT_TRUE(hp::way_choice().settled());
  EXPECT_TRUE(hp::way_choice(hp::way_choice::least_measured - 1).settled());
  EXPECT_EQ(hp::way_choice(hp::way_choice::least_measured).settled(), !hp::detail::has_streaming_stores);
  for (const std::int64_t bytes : {std::int64_t{0}, 5 * MiB, 500 * MiB}) {
    EXPECT_TRUE(hp::way_choice(bytes, bytes).settled());
    EXPECT_EQ(hp::way_choice(bytes, bytes).next().stores, hp::stores_for(1, 0));
    EXPECT_EQ(hp::way_choice(bytes, bytes + 1).next(), hp::cached_copy);
  }
}

}  // namespace
