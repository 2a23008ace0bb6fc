// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/stack_walk.hpp>

#include <gtest/gtest.h>

#include "walked_tensors.hpp"

namespace hp = hyperparallel;

namespace {

using walked_tensors::counted_memory, walked_tensors::small_sizes, walked_tensors::visit_options;

/// Two steps; the peak and the numbers are those of the second one.
counted_memory walked(const hp::stack_sizes& s, int steps = 2) {
  counted_memory m;
  hp::stack_walk<counted_memory> walk(s, m);
  for (int step = 0; step < steps; ++step) {
    m.peak = 0;
    walk.step();
  }
  return m;
}

// All that a step allocates is released but shards, moments, inputs and workspaces; each step is like the one before.
TEST(StackWalk, AStepLeavesWhatItFound) {
  visit_options([](hp::stack_sizes s) {
    for (s.micro_batches = 1; s.micro_batches <= 4; ++s.micro_batches) {
      const counted_memory m = walked(s), again = walked(s, 3);
      EXPECT_EQ(m.now, again.now);
      EXPECT_EQ(m.peak, again.peak);
      EXPECT_EQ(m.after_forward, again.after_forward);
      EXPECT_EQ(m.of(hp::memory_class::gradients), 0);
      EXPECT_EQ(m.of(hp::memory_class::activations), 0);
      EXPECT_EQ(m.of(hp::memory_class::buffers), 2 * 32 * hp::MiB);
      hp::extent_t shards = 0, parameters = 0;
      for (const hp::stack_parameter& p : s.block()) {
        shards += s.layers * p.shard(s.ranks);
        parameters += s.layers;
      }
      for (const hp::stack_parameter& p : s.root()) {
        shards += p.shard(s.ranks);
        ++parameters;
      }
      EXPECT_EQ(m.of(hp::memory_class::parameters), 4 * shards);
      EXPECT_EQ(m.of(hp::memory_class::states), 8 * shards + 4 * parameters);
      EXPECT_GE(m.peak, m.after_forward);
      EXPECT_GE(m.after_forward, m.now);
    }
  });
}

// What is there when forward has ended, from the definition.
TEST(StackWalk, HoldsAfterForwardWhatBackwardReads) {
  visit_options([](const hp::stack_sizes& s) {
    const counted_memory m = walked(s);
    const hp::extent_t residual = 2 * s.shard_tokens * s.hidden;
    hp::extent_t block =
        2 * (s.shard_tokens * s.hidden + 2 * s.tokens * s.hidden + s.tokens * (2 * s.query + 2 * s.key + 4 * s.width)) +
        4 * s.tokens * s.heads + 8 * s.shard_tokens;
    if (s.head_normed) block += s.tokens * (2 * (s.query + s.key) + 4 * (s.heads + s.key_heads));
    hp::extent_t held = m.now + s.layers * (s.recomputed ? 0 : block) + (s.layers + 1) * residual + 8 * s.tokens +
                        4 * s.shard_tokens + 2 * s.tokens * s.hidden + 4 * s.tokens * s.vocabulary;
    if (!s.reshards) {
      for (const hp::stack_parameter& p : s.block()) held += s.layers * 2 * p.shard(s.ranks) * s.ranks;
      for (const hp::stack_parameter& p : s.root()) held += 2 * p.shard(s.ranks) * s.ranks;
    }
    EXPECT_EQ(m.after_forward, held);
  });
}

// Selective checkpoints keep what their list says, a compiled block what of it backward reads; a step leaves what it found, and takes no more than
// one that keeps all and no less than one that keeps nothing.
TEST(StackWalk, SelectiveCheckpointsKeepTheirList) {
  for (const bool compiled : {false, true})
    visit_options([&](hp::stack_sizes s) {
      if (!s.recomputed) return;
      s.compiled = compiled;
      s.layers = 12;  // what one block needs beside all that is kept is little
      const counted_memory whole = walked(s);
      s.selective = true;
      const counted_memory m = walked(s), again = walked(s, 3);
      EXPECT_EQ(m.now, again.now);
      EXPECT_EQ(m.peak, again.peak);
      EXPECT_EQ(m.of(hp::memory_class::activations), 0);
      hp::extent_t columns = s.query + (s.biased ? s.hidden + s.width : s.query + s.key + s.width);
      if (!compiled && !s.biased) columns += s.hidden;
      hp::extent_t block = 2 * s.tokens * columns + 4 * s.tokens * s.heads;
      if (s.is_cut) block += 2 * s.shard_tokens * s.hidden * (compiled ? 1 : 2);
      EXPECT_EQ(m.after_forward, whole.after_forward + s.layers * block);
      s.recomputed = s.selective = false;
      const counted_memory all = walked(s);
      EXPECT_GE(m.peak, whole.peak);
      EXPECT_GE(all.peak, m.peak);
      EXPECT_GE(all.after_forward, m.after_forward);
    });
}

// Accumulation of one is one micro-batch; of several the unsharded gradients come on top, and three are as many as there are.
TEST(StackWalk, MicroBatchesAccumulate) {
  visit_options([](hp::stack_sizes s) {
    const counted_memory one = walked(s);
    hp::extent_t whole = 0;
    for (const hp::stack_parameter& p : s.block()) whole += s.layers * p.elements();
    for (const hp::stack_parameter& p : s.root()) whole += p.elements();
    s.micro_batches = 2;
    const counted_memory two = walked(s);
    EXPECT_EQ(two.after_forward, one.after_forward + 4 * whole);
    EXPECT_GE(two.peak, one.peak);
    s.micro_batches = 3;
    const counted_memory three = walked(s);
    s.micro_batches = 1000;
    const counted_memory many = walked(s);
    EXPECT_EQ(three.peak, two.peak);
    EXPECT_EQ(many.peak, three.peak);
    EXPECT_EQ(many.requests, three.requests);
  });
}

// More tokens, layers or vocabulary never take less; more ranks never more of shards.
TEST(StackWalk, PeaksRiseWithTheModel) {
  visit_options([](const hp::stack_sizes& s) {
    const counted_memory m = walked(s);
    const auto larger = [&](auto change) {
      hp::stack_sizes other = s;
      change(other);
      const counted_memory o = walked(other);
      EXPECT_GT(o.peak, m.peak);
      EXPECT_GT(o.after_forward, m.after_forward);
    };
    larger([](hp::stack_sizes& o) { o.tokens *= 2, o.shard_tokens *= 2; });
    larger([](hp::stack_sizes& o) { o.tokens *= 2, o.shard_tokens *= 2, o.sequence *= 2; });
    larger([](hp::stack_sizes& o) { ++o.layers; });
    larger([](hp::stack_sizes& o) { o.vocabulary *= 2; });
    hp::stack_sizes other = s;
    other.ranks = 2 * s.ranks;
    EXPECT_LT(walked(other).now, m.now);
  });
}

// Of very many ranks shards are nothing but padding: what is left does not change with more of them.
TEST(StackWalk, ShardsVanishWithTheRanks) {
  hp::stack_sizes s = small_sizes();
  s.hidden = s.query = s.key = s.width = s.vocabulary = 4096;
  s.ranks = 1024;
  const counted_memory some = walked(s);
  s.ranks = 4096;
  const counted_memory more = walked(s);
  EXPECT_LT(some.peak - more.peak, some.peak / 100);
  EXPECT_LT(more.peak, some.peak);
}

// Where nothing is sharded, parameters, moments and gradients are of one format, and a step leaves what it found.
TEST(StackWalk, OneDeviceHasAll) {
  for (int bits = 0; bits < 16; ++bits) {
    hp::stack_sizes s = small_sizes();
    s.ranks = 1;
    s.sharded = s.reshards = false;
    s.composed = true;
    s.autocast = (bits & 1) != 0;
    s.recomputed = (bits & 2) != 0;
    s.tied = (bits & 4) != 0;
    s.micro_batches = (bits & 8) != 0 ? 3 : 1;
    hp::extent_t elements = 0, parameters = 0;
    for (const hp::stack_parameter& p : s.block()) elements += s.layers * p.elements(), parameters += s.layers;
    for (const hp::stack_parameter& p : s.root()) elements += p.elements(), ++parameters;
    const counted_memory m = walked(s), again = walked(s, 3);
    const hp::extent_t bytes = s.autocast ? 4 : 2;
    EXPECT_EQ(m.of(hp::memory_class::parameters), bytes * elements);
    EXPECT_EQ(m.of(hp::memory_class::states), 2 * bytes * elements + 4 * parameters);
    EXPECT_EQ(m.of(hp::memory_class::gradients), 0);
    EXPECT_EQ(m.of(hp::memory_class::activations), 0);
    EXPECT_EQ(m.of(hp::memory_class::buffers), 2 * 32 * hp::MiB);
    EXPECT_EQ(m.now, again.now);
    EXPECT_EQ(m.peak, again.peak);
    EXPECT_GE(m.peak, m.now + bytes * elements);
  }
}

// Experts as a group of their own: a step leaves what it found, shards are cut for fewer ranks, and with one rank of experts each the
// group is a part of its block.
TEST(StackWalk, ExpertsAreAGroupOfTheirOwn) {
  for (int bits = 0; bits < 16; ++bits) {
    hp::stack_sizes s = small_sizes();
    s.experts = 8;
    s.local_experts = (bits & 1) != 0 ? 4 : 8;
    s.top_k = 2;
    s.expert_width = 20;
    s.ranks = 4;
    s.expert_ranks = (bits & 1) != 0 ? 2 : 4;
    s.recomputed = (bits & 2) != 0;
    s.reshards = (bits & 4) != 0;
    s.micro_batches = (bits & 8) != 0 ? 3 : 1;
    const counted_memory m = walked(s), again = walked(s, 3);
    EXPECT_EQ(m.now, again.now);
    EXPECT_EQ(m.peak, again.peak);
    EXPECT_EQ(m.of(hp::memory_class::gradients), 0);
    EXPECT_EQ(m.of(hp::memory_class::activations), 0);
    EXPECT_EQ(m.of(hp::memory_class::buffers), 2 * 32 * hp::MiB);
    hp::extent_t shards = 0;
    for (const hp::stack_parameter& p : s.block()) shards += s.layers * p.shard(s.ranks);
    for (const hp::stack_parameter& p : s.root()) shards += p.shard(s.ranks);
    if (s.has_expert_groups())
      for (const hp::stack_parameter& p : s.expert_group()) shards += s.layers * p.shard(s.expert_ranks);
    EXPECT_EQ(m.of(hp::memory_class::parameters), 4 * shards);
  }
}

}  // namespace
