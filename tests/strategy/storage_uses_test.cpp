// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/storage_uses.hpp>

#include <models/stacked_model.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <gtest/gtest.h>

#include <set>

namespace hp = hyperparallel;

namespace {

hp::sharded_program program_of(bool unrolled, const char* strategy, int ranks) {
  programs::stacked_model model;
  model.dense_layers = 6;
  model.expert_layers = 3;
  model.batch = 8;
  model.unrolled = unrolled;
  return hp::partition(model.build(), hp::strategy_called(strategy, ranks).strategy);
}

TEST(StorageUses, BlocksPartTheSteps) {
  for (const char* strategy : {"zero3", "tp-sp"}) {
    const hp::sharded_program p = program_of(false, strategy, 2);
    const hp::storage_uses uses(p);
    int step = 0, time = 0;
    for (const hp::step_block& b : uses.blocks) {
      EXPECT_EQ(b.begin, step);
      EXPECT_EQ(b.time, time);
      EXPECT_LT(b.begin, b.end);
      for (; step < b.end; ++step) {
        EXPECT_EQ(p.step[step].segment, b.segment);
        EXPECT_EQ(p.step[step].phase, p.step[b.begin].phase);
      }
      time += (b.end - b.begin) * b.repetitions;
      EXPECT_LE(b.repetitions, hp::storage_uses::written_out);
    }
    EXPECT_EQ(step, p.step.size);
    EXPECT_EQ(time, uses.times);
    std::set<int> at;
    for (int i = 0; i < p.step.size; ++i)
      for (int r = 0; r < uses.repetitions_of(p.step[i].segment); ++r) at.insert(uses.time_of(i, r));
    EXPECT_EQ(at.size(), static_cast<std::size_t>(uses.times));
  }
}

TEST(StorageUses, OfAProgramWithoutSegmentsAreItsLifetimes) {
  const hp::sharded_program p = program_of(true, "single", 1);
  const hp::storage_uses uses(p);
  const hp::growing_array<hp::storage_lifetime> lives = hp::lifetimes_of(p);
  for (int s = 0; s < p.storage.size; ++s) {
    EXPECT_EQ(uses.resident[s], lives[s].always);
    if (lives[s].always) continue;
    EXPECT_EQ(uses.use[s].first, lives[s].first);
    EXPECT_EQ(uses.use[s].last, lives[s].last);
  }
}

TEST(StorageUses, ClassesHoldAsMuchFoldedAsWrittenOut) {
  hp::extent_t bytes[2][hp::memory_class_count] = {};
  for (const bool unrolled : {false, true}) {
    const hp::sharded_program p = program_of(unrolled, "single", 1);
    const hp::storage_uses uses(p);
    for (int s = 0; s < p.storage.size; ++s)
      if (uses.resident[s])
        bytes[unrolled][static_cast<int>(uses.class_of(s))] +=
            p.storage[s].bytes * hp::detail::repeats_of(p.graph, uses.use[s].segment);
  }
  for (int c = 0; c < hp::memory_class_count; ++c) EXPECT_EQ(bytes[0][c], bytes[1][c]);
  EXPECT_GT(bytes[0][static_cast<int>(hp::memory_class::parameters)], 0);
  EXPECT_GT(bytes[0][static_cast<int>(hp::memory_class::states)], 0);
}

}  // namespace
