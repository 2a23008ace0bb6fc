// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/narrow_gradients.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <models/trained_models.hpp>

#include <gtest/gtest.h>

#include <set>

namespace hp = hyperparallel;

namespace {

hp::sharded_program program_of(hp::data_type type, int micro_batches) {
  return hp::partition(programs::moe_graph({.unrolled = true, .micro_batches = micro_batches, .type = type}),
                       hp::strategy_called("zero1", 2).strategy);
}

TEST(NarrowGradients, ThereAreNoneOf32Bits) {
  EXPECT_EQ(hp::detail::gradients_that_may_overflow(program_of(hp::f32, 1)).size, 0);
  EXPECT_EQ(hp::detail::gradients_that_may_overflow(program_of(hp::f64, 2)).size, 0);
}

/// A micro-batch writes each, and norm or update reads its storage; every such storage is listed once.
TEST(NarrowGradients, AreWhatUpdatesReadOfAMicroBatch) {
  for (const hp::data_type type : {hp::f16, hp::bf16})
    for (const int micro_batches : {1, 2}) {
      const hp::sharded_program p = program_of(type, micro_batches);
      ASSERT_EQ(p.status.code, hp::strategy_code::ok);
      std::set<int> written, read, listed;
      for (const hp::program_step& s : p.step)
        hp::detail::visit_values(p, s, [&](int v, bool writes) {
          if (hp::is_in(s.phase, hp::micro_phases) && writes) written.insert(p.value[v].storage);
          if (hp::is_in(s.phase, hp::update_phases) && !writes) read.insert(p.value[v].storage);
        });
      for (const int v : hp::detail::gradients_that_may_overflow(p))
        EXPECT_TRUE(listed.insert(p.value[v].storage).second);
      std::set<int> both;
      for (const int s : written)
        if (read.contains(s)) both.insert(s);
      EXPECT_EQ(listed, both);
      EXPECT_GT(listed.size(), 5U);
    }
}

}  // namespace
