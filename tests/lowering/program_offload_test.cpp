// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/program_offload.hpp>

#include <hyperparallel/lowering/program_slots.hpp>
#include <hyperparallel/lowering/step_durations.hpp>
#include <hyperparallel/offload/use_chains.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <world/small_models.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

hp::sharded_program program_of(const char* strategy) {
  return hp::partition(small_models::decoder({.layers = 2, .experts = true}),
                       hp::strategy_called(strategy, 4).strategy);
}

hp::offload_program seen(const hp::sharded_program& p, bool recomputation = false) {
  const hp::program_moves moves = hp::kinds_of_moves(p);
  hp::tier_hardware h;
  h.tier.push({1 << 30, -1, -1});
  h.tier.push({1 << 30, 0, 0});
  h.link.push({1'000'000'000, 0});
  return hp::offload_period_of(p, moves, hp::step_durations(p, moves), h, {.recomputation = recomputation}).problem;
}

// The law: what is alive at an operator is what addresses need at the step.
TEST(ProgramOffload, LivesAreThoseThatAddressesArePlannedFor) {
  for (const char* const name : {"dp", "zero3", "tp-sp", "ring", "ep"}) {
    const hp::sharded_program p = program_of(name);
    const hp::offload_program o = seen(p);
    const hp::offload_status status = hp::check(o);
    ASSERT_EQ(status.code, hp::offload_code::ok) << name << ": " << to_text(status.code) << " " << status.storage;
    const hp::growing_array<hp::extent_t> live = hp::live_bytes(o);
    const hp::growing_array<hp::storage_lifetime> lives = hp::lifetimes_of(p);
    const hp::growing_array<hp::memory_interval> blocks = hp::detail::temporaries_of(p, lives, hp::kinds_of_moves(p));
    hp::extent_t most = 0;
    for (int i = 0; i < p.step.size; ++i) {
      hp::extent_t bytes = hp::detail::resident_bytes(p, lives, 0);
      for (const hp::memory_interval& b : blocks)
        if (b.first <= i && i <= b.last) bytes += hp::detail::aligned(b.bytes);
      EXPECT_EQ(live[i], bytes) << name << ", step " << i;
      most = hp::larger(most, bytes);
    }
    EXPECT_EQ(most, hp::alive_maximum(p)) << name;
  }
}

TEST(ProgramOffload, WhatTheRunnerTouchesStays) {
  const hp::sharded_program p = program_of("dp");
  const hp::offload_program o = seen(p);
  const hp::growing_array<hp::gap_rights> rights = hp::rights_of(o, hp::chains_of(o));
  const hp::use_chains chains = hp::chains_of(o);
  int inputs = 0, leaving = 0;
  for (int g = 0; g < chains.gap.size; ++g) {
    const int s = chains.gap[g].storage;
    const bool input = p.storage[s].home && p.graph.tensor[p.storage[s].tensor].kind == hp::graph_tensor_kind::input;
    inputs += input ? 1 : 0;
    leaving += rights[g].offload ? 1 : 0;
    EXPECT_FALSE(input && rights[g].offload);
  }
  EXPECT_GT(inputs, 0);
  EXPECT_GT(leaving, 100);
}

TEST(ProgramOffload, OnlyWhatASingleOperatorMakesCanBeMadeAgain) {
  const hp::sharded_program p = program_of("tp-sp");
  const hp::offload_program o = seen(p, true);
  int possible = 0;
  for (int s = 0; s < p.storage.size; ++s) {
    const hp::offload_storage& one = o.storage[s];
    if (one.recompute < 0) continue;
    ++possible;
    EXPECT_FALSE(p.storage[s].home);
    int writers = 0;
    for (const hp::program_compute& c : p.compute)
      for (int r = 0; r < p.graph.op[c.op].result_count; ++r) writers += p.value[c.result[r]].storage == s ? 1 : 0;
    for (const hp::program_move& m : p.move) EXPECT_NE(p.value[m.target].storage, s);
    EXPECT_EQ(writers, 1);
  }
  EXPECT_GT(possible, 50);
  for (const hp::offload_storage& one : seen(p).storage) EXPECT_LT(one.recompute, 0);
}

}  // namespace
