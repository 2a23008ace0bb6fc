// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/stack_groups.hpp>

#include <gtest/gtest.h>

#include "walked_tensors.hpp"

namespace hp = hyperparallel;

namespace {

using walked_tensors::counted_memory;

/// Elements of the groups of a small model, padded for its ranks.
hp::extent_t padded(const hp::stack_group& g) { return g.shard() * g.ranks; }

// A gather in forward holds the buffer until the next one, in backward the next one's; on one rank there are none.
TEST(StackGroups, BuffersStayUntilTheNextGroup) {
  for (const int ranks : {1, 2, 3}) {
    hp::stack_sizes s = walked_tensors::small_sizes();
    s.ranks = ranks;
    counted_memory m;
    hp::stack_groups<counted_memory> groups(s, m);
    const hp::extent_t shards = m.now, whole = 2 * padded(groups.block[0]), buffer = ranks > 1 ? whole : 0;
    groups.gather_forward(groups.block[0]);
    EXPECT_EQ(m.now, shards + whole + buffer);
    groups.gather_forward(groups.block[0]);  // it is there
    EXPECT_EQ(m.now, shards + whole + buffer);
    groups.drop(groups.block[0].whole);
    groups.gather_forward(groups.block[1]);
    EXPECT_EQ(m.now, shards + whole + buffer);
    groups.drop(groups.gathering);
    groups.drop(groups.block[1].whole);
    EXPECT_EQ(m.now, shards);
    groups.prefetched = groups.gather(groups.block[2]);
    EXPECT_EQ(m.now, shards + buffer);
    groups.gather_backward(groups.block[2], &groups.block[1]);
    EXPECT_EQ(m.now, shards + whole + buffer);
    groups.drop(groups.block[2].whole);
    groups.gather_backward(groups.block[1], nullptr);
    EXPECT_EQ(m.now, shards + whole);
  }
}

// Gradients of a group become f32 copies, or a shard beside the buffer of the reduction; after the update moments are left.
TEST(StackGroups, GradientsEndInTheUpdate) {
  const hp::stack_sizes s = walked_tensors::small_sizes();
  counted_memory m;
  hp::stack_groups<counted_memory> groups(s, m);
  const hp::extent_t shards = m.now;
  hp::stack_group& g = groups.block[0];
  hp::extent_t elements = 0;
  for (const hp::stack_parameter& p : g.parameter) elements += p.elements();
  const auto make_gradients = [&] {
    for (const hp::stack_parameter& p : g.parameter)
      g.gradient.push(m.allocate(2 * p.elements(), hp::memory_class::gradients, 0));
  };
  for (int turn = 0; turn < 2; ++turn) {
    make_gradients();
    groups.end(g, false);
    EXPECT_EQ(m.now, shards + 4 * elements);
  }
  make_gradients();
  groups.end(g, true);
  EXPECT_EQ(m.now, shards + 4 * padded(g) + 4 * g.shard());
  groups.drop(groups.reducing);
  groups.update();
  const hp::extent_t moments = m.now - shards;
  EXPECT_EQ(m.of(hp::memory_class::gradients), 0);
  EXPECT_EQ(m.of(hp::memory_class::states), moments);
  groups.update();
  EXPECT_EQ(m.now, shards + moments);
}

}  // namespace
