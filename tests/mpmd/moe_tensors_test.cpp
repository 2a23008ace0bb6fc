// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/mpmd/moe_tensors.hpp>

#include <gtest/gtest.h>

#include <set>

#include <hyperparallel/mpmd/moe_chain.hpp>

namespace {

namespace hp = hyperparallel;

hp::moe_plan plan(hp::moe_pass pass, hp::moe_scope scope, int buffers) {
  hp::moe_plan p;
  p.layer = {8, 4, 8, 2, 8 * 4};
  p.tiling = {2, 4, 4, 1, 2, 1, 2, 3, 4, 4};
  p.devices = 4;
  p.rows_per_pair = 5;  // three blocks, the last one half empty
  p.pass = pass;
  p.scope = scope;
  if (buffers > 0) {
    p.weights.windowed = true;
    p.weights.buffers = buffers;
    p.weights.previous[0] = -1;
    p.weights.previous[1] = -1;
    p.weights.buffer[1] = 1;
  }
  return p;
}

TEST(moe_tensors, exist_if_and_only_if_a_stage_uses_them) {
  for (const hp::moe_pass pass : {hp::moe_pass::forward, hp::moe_pass::backward, hp::moe_pass::training})
    for (const hp::moe_scope scope : {hp::moe_scope::layer, hp::moe_scope::experts})
      for (const int buffers : {0, 2}) {
        if (pass == hp::moe_pass::training && scope == hp::moe_scope::experts) continue;  // it needs the whole layer
        const hp::moe_plan p = plan(pass, scope, buffers);
        const hp::tile_chain c = hp::describe_moe(p).chain;
        std::set<int> used;
        for (int s = 0; s < c.stages; ++s) {
          for (int r = 0; r < c.stage[s].reads; ++r) used.insert(c.stage[s].read[r].tensor);
          for (int w = 0; w < c.stage[s].writes; ++w) used.insert(c.stage[s].write[w]);
        }
        const int declared = hp::declare_moe(p).chain.tensors;
        int unused = 0;
        for (int t = 0; t < declared; ++t) unused += used.count(t) == 0 ? 1 : 0;
        // Backward alone keeps the places of what only forward uses, so that both passes have the same slots.
        if (pass != hp::moe_pass::backward) {
          EXPECT_EQ(unused, 0);
        } else {
          EXPECT_GT(unused, 0);
        }
      }
}

TEST(moe_tensors, the_slots_of_forward_are_those_of_training) {
  const hp::moe_chain forward = hp::declare_moe(plan(hp::moe_pass::forward, hp::moe_scope::layer, 0));
  const hp::moe_chain training = hp::declare_moe(plan(hp::moe_pass::training, hp::moe_scope::layer, 0));
  ASSERT_LT(forward.chain.tensors, training.chain.tensors);
  for (int t = 0; t < forward.chain.tensors; ++t) {
    EXPECT_EQ(forward.chain.tensor[t].bytes, training.chain.tensor[t].bytes);
    EXPECT_EQ(forward.chain.tensor[t].held, training.chain.tensor[t].held);
    EXPECT_EQ(forward.chain.tensor[t].space, training.chain.tensor[t].space);
  }
}

TEST(moe_tensors, sizes_are_those_of_full_capacity) {
  const hp::moe_plan p = plan(hp::moe_pass::training, hp::moe_scope::layer, 0);
  const hp::moe_chain m = hp::declare_moe(p);
  const auto bytes = [&](int tensor) { return m.chain.tensor[tensor].bytes; };
  EXPECT_EQ(bytes(m.tensor.tokens), 8 * 8 * 2);                             // local tokens · hidden
  EXPECT_EQ(bytes(m.tensor.received), 2 * 8 * 2 + hp::block_header_bytes);  // a block
  EXPECT_EQ(bytes(m.tensor.returns), 3 * 4 * 2 * 8 * 2);                    // chunks · devices blocks of an expert
  EXPECT_EQ(bytes(m.tensor.gate_up_weight), 8 * 2 * 4 * 2);                 // one expert's
  EXPECT_EQ(bytes(m.tensor.gate_up_weight_gradient), 8 * 2 * 4 * 4);        // in f32
  EXPECT_EQ(m.chain.space[hp::moe_blocks_space].items, 2 * 3 * 4);          // experts · chunks · devices
  EXPECT_EQ(m.chain.space[hp::moe_tokens_space].items, 8);
}

TEST(moe_tensors, weights_wait_in_the_slow_tier_where_they_take_turns) {
  const hp::moe_chain m = hp::declare_moe(plan(hp::moe_pass::forward, hp::moe_scope::layer, 2));
  EXPECT_TRUE(m.chain.tensor[m.tensor.down_weight].windowed);
  EXPECT_EQ(m.chain.tensor[m.tensor.down_source].tier, hp::slow_tier);
  EXPECT_EQ(m.chain.window.buffers, 2);
  const hp::moe_chain resident = hp::declare_moe(plan(hp::moe_pass::forward, hp::moe_scope::layer, 0));
  EXPECT_EQ(resident.tensor.down_source, -1);
  EXPECT_FALSE(resident.chain.tensor[resident.tensor.down_weight].windowed);
}

}  // namespace
