// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/controller/newest_slots.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hp = hyperparallel;

namespace {

/// A writer and a reader that begin and end their firings in a random order, with values in the slots as a channel has them.
struct played_edge {
  std::int64_t ready;
  hp::newest_slots slots{ready};
  std::int64_t value[hp::newest_slots::count] = {ready - 1, -7, -7};
  std::int64_t written = 0, done = 0;
  bool writes = false, reads = false;

  std::int64_t newest() const { return ready + written - 1; }
  bool may_write() const { return !writes && slots.may_write(done, newest()); }
  bool may_read() const { return !reads && newest() >= done && slots.may_read(done, newest()); }

  /// Whether something could happen.
  bool step(std::mt19937& random, int firings) {
    for (int first = static_cast<int>(random() % 4), i = 0; i < 4; ++i) switch ((first + i) % 4) {
        case 0:
          if (written == firings || !may_write()) break;
          slots.begin_writing(done, newest());
          EXPECT_LT(slots.slot_written(), hp::newest_slots::count);
          value[slots.slot_written()] = -7;
          return writes = true;
        case 1:
          if (!writes) break;
          value[slots.slot_written()] = ready + written;
          slots.end_writing(ready + written);
          ++written;
          writes = false;
          return true;
        case 2:
          if (done == firings || !may_read()) break;
          slots.begin_reading(done, newest());
          return reads = true;
        case 3: {
          if (!reads) break;
          const std::int64_t version = slots.version_of(done, newest());
          EXPECT_EQ(value[slots.slot_of(version)], version);
          if (random() % 8 == 0) return true;  // the firing fails, and is tried again later
          ++done;
          reads = false;
          return true;
        }
      }
    return false;
  }
};

TEST(NewestSlots, ThreeAreEnoughAtAnyPaceAndRecordsAreReplayedAtAnyOther) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::int64_t ready = static_cast<std::int64_t>(random() % 4);
    const int firings = 1 + static_cast<int>(random() % 20);
    played_edge first{ready};
    while (first.written < firings || first.done < firings) ASSERT_TRUE(first.step(random, firings));
    const std::vector<std::int64_t> record = first.slots.read();
    ASSERT_EQ(std::ssize(record), firings);
    for (int k = 0; k < firings; ++k)
      EXPECT_GE(record[static_cast<std::size_t>(k)], std::max<std::int64_t>(k, ready - 1));
    played_edge again{ready};
    ASSERT_EQ(again.slots.first_impossible(record), record.size());
    again.slots.replay(record);
    while (again.written < firings || again.done < firings) ASSERT_TRUE(again.step(random, firings)) << round;
    EXPECT_EQ(again.slots.read(), record);
  }
}

TEST(NewestSlots, NamesTheFirstVersionThatNoRunReads) {
  const hp::newest_slots slots(2);
  const std::vector<std::int64_t> good = {1, 1, 2, 9}, early = {0}, falling = {3, 2}, late = {1, 1, 1};
  EXPECT_EQ(slots.first_impossible(good), 4u);
  EXPECT_EQ(slots.first_impossible(early), 0u);
  EXPECT_EQ(slots.first_impossible(falling), 1u);
  EXPECT_EQ(slots.least_of(falling, 1), 3);
  EXPECT_EQ(slots.first_impossible(late), 2u);
}

}  // namespace
