// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/sync_words.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace {

namespace hp = hyperparallel;

static_assert(sizeof(hp::detail::sync_words::word) == hp::cache_line &&
              alignof(hp::detail::sync_words::word) == hp::cache_line);

// A wait of generation g holds exactly from the threshold-th signal of generation g on, across the wrap of the word.
constexpr bool generations_hold(std::uint32_t first_generation, std::uint32_t total) {
  std::uint32_t value = first_generation * total;
  for (std::uint32_t g = first_generation; g != first_generation + 20; ++g)
    for (std::uint32_t signals = 0; signals < total; ++signals, ++value)
      for (std::uint32_t threshold = 1; threshold <= total; ++threshold)
        if (hp::detail::event_reached(value, hp::detail::event_target(g, total, threshold)) != (signals >= threshold))
          return false;
  return true;
}
static_assert(generations_hold(0, 3));
static_assert(generations_hold(0xffffffffU / 3 - 5, 3));
static_assert(generations_hold(0xfffffff0U, 5));
static_assert(!hp::detail::event_reached(2, 3) && hp::detail::event_reached(3, 3) &&
              hp::detail::event_reached(1, 0xffffffffU));

TEST(SyncWords, AThresholdOfARunHoldsFromItsOwnPublicationOnInEveryGeneration) {
  constexpr std::uint32_t period = 7;
  for (const std::uint32_t first : {0U, 5U, 0xffffffffU / period - 2, 0x7fffffffU / period - 2, 0U - 3U}) {
    hp::detail::sync_words words(2);
    words[1].period = period;
    words.level(first);
    for (std::uint32_t g = first; g != first + 6; ++g) {
      for (std::uint32_t n = 1; n <= period; ++n) EXPECT_FALSE(words.reached(1, g, n, std::memory_order_relaxed));
      for (const std::uint32_t position : {2U, 3U, 6U}) {  // the last record is not published
        words[1].value.store(g * period + position);
        for (std::uint32_t n = 1; n <= period; ++n)
          EXPECT_EQ(words.reached(1, g, n, std::memory_order_acquire), n <= position) << g << ' ' << position;
      }
    }
  }
}

TEST(SyncWords, LevelPutsEveryWordToTheBeginningOfARun) {
  hp::detail::sync_words words(3);
  EXPECT_EQ(words.count(), 3);
  for (int w = 0; w < 3; ++w) words[w].period = static_cast<std::uint32_t>(w);
  words[2].value = 1;  // a broken run
  words.level(4);
  for (int w = 0; w < 3; ++w) EXPECT_EQ(words[w].value, 4U * static_cast<unsigned>(w));
}

}  // namespace
