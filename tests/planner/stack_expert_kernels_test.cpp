// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/stack_expert_kernels.hpp>

#include <gtest/gtest.h>

#include "recorded_kernels.hpp"
#include "walked_tensors.hpp"

namespace hp = hyperparallel;

namespace {

using recorded_kernels::recorder;

hp::stack_sizes with_experts(hp::extent_t local) {
  hp::stack_sizes s = walked_tensors::small_sizes();
  s.experts = 8;
  s.local_experts = local;
  s.top_k = 2;
  s.expert_width = 20;
  return s;
}

// Each slot goes through three products, backward through six; the router through one and two.
TEST(StackExpertKernels, SlotsAreMultiplied) {
  const hp::stack_sizes s = with_experts(8);
  recorder forward, backward;
  hp::stack_expert_kernels<recorder>(s, forward).forward_experts();
  hp::stack_expert_kernels<recorder>(s, backward).backward_experts();
  const hp::extent_t slots = s.tokens * s.top_k;
  EXPECT_EQ(forward.grouped_operations, 3 * 2 * slots * s.hidden * s.expert_width);
  EXPECT_EQ(backward.grouped_operations, 2 * forward.grouped_operations);
  EXPECT_EQ(forward.operations[0], 2 * s.tokens * s.hidden * s.experts);
  EXPECT_EQ(backward.operations[1], forward.operations[0]);
  EXPECT_EQ(backward.operations[2], forward.operations[0]);
}

// Where ranks share the experts, what is sent and what comes back are copies of all slots: two more passes each way.
TEST(StackExpertKernels, ExchangesAreCopies) {
  recorder alone, shared;
  const hp::stack_sizes whole = with_experts(8), cut = with_experts(4);
  hp::stack_expert_kernels<recorder>(whole, alone).forward_experts();
  hp::stack_expert_kernels<recorder>(cut, shared).forward_experts();
  EXPECT_EQ(shared.kernels, alone.kernels + 2);
  EXPECT_EQ(shared.bytes, alone.bytes + 2 * 4 * cut.tokens * cut.top_k * cut.hidden);
  EXPECT_EQ(shared.grouped_operations, alone.grouped_operations);
}

}  // namespace
