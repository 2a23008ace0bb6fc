// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/stack_experts.hpp>

#include <gtest/gtest.h>

#include "walked_tensors.hpp"

namespace hp = hyperparallel;

namespace {

using walked_tensors::counted_memory;

hp::stack_sizes with_experts(bool is_cut) {
  hp::stack_sizes s = walked_tensors::small_sizes();
  s.experts = 8;
  s.local_experts = is_cut ? 4 : 8;
  s.top_k = 2;
  s.expert_width = 20;
  return s;
}

/// Scores, choices with their weights and sums, the order of slots twice, and of each slot what products read and give.
hp::extent_t kept_of(const hp::stack_sizes& s) {
  const hp::extent_t slots = s.tokens * s.top_k;
  return 4 * s.tokens * s.experts + (4 + 8) * slots + 4 * s.tokens + 2 * 8 * slots + 2 * slots +
         2 * slots * (2 * s.hidden + (s.compiled ? 3 : 4) * s.expert_width);
}

// Forward keeps what backward releases, but for the gradient of the input and of weights; computed again it keeps the same.
TEST(StackExperts, BackwardReleasesWhatForwardKeeps) {
  for (int bits = 0; bits < 4; ++bits) {
    hp::stack_sizes s = with_experts((bits & 1) != 0);
    s.compiled = (bits & 2) != 0;
    counted_memory m;
    hp::stack_experts<counted_memory> experts(s, m);
    hp::experts_kept kept;
    m.release(experts.forward(kept, false, false));
    EXPECT_EQ(m.now, 0);
    EXPECT_EQ(experts.forward(kept, true, true), -1);
    EXPECT_EQ(m.now, kept_of(s));
    hp::extent_t weights = 0;
    const int input = experts.backward(
        kept, [&](hp::extent_t elements) { return m.allocate(elements, hp::memory_class::gradients, 0); },
        [&](int number) { weights += m.requested(number); });
    EXPECT_EQ(m.requested(input), 2 * s.tokens * s.hidden);
    EXPECT_EQ(weights, 3 * s.local_experts * s.hidden * s.expert_width + s.experts * s.hidden);
    EXPECT_EQ(m.now, weights + m.requested(input));
    m.release(experts.forward(kept, true, false));
    EXPECT_EQ(m.now, weights + 2 * s.tokens * s.hidden + kept_of(s));
  }
}

}  // namespace
