// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/stack_block.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "walked_tensors.hpp"

namespace hp = hyperparallel;

namespace {

using walked_tensors::counted_memory, walked_tensors::visit_options;

/// What eager operators keep of a block beside its input, from the definition: 4 bytes a head and row of attention, 4 a row and norm, 2 an element.
hp::extent_t kept_of(const hp::stack_sizes& s) {
  const hp::extent_t heads = s.head_normed ? s.tokens * (2 * (s.query + s.key) + 4 * (s.heads + s.key_heads)) : 0;
  return 2 * (s.shard_tokens * s.hidden + 2 * s.tokens * s.hidden +
              s.tokens * (2 * s.query + 2 * s.key + (s.compiled ? 3 : 4) * s.width)) +
         4 * s.tokens * s.heads + 8 * s.shard_tokens + heads;
}

// Forward keeps what backward releases, and nothing where it keeps nothing; computed again it keeps the same.
TEST(StackBlock, BackwardReleasesWhatForwardKeeps) {
  visit_options([](hp::stack_sizes s) {
    for (const bool compiled : {false, true}) {
      s.compiled = compiled;
      counted_memory m;
      hp::stack_block<counted_memory> block(s, m);
      const hp::extent_t out = 2 * s.shard_tokens * s.hidden;
      hp::stack_kept kept;
      m.release(block.forward(kept, false));
      EXPECT_EQ(m.now, 0);
      const int made = block.forward(kept, true);
      EXPECT_EQ(m.now, kept_of(s) + out);
      m.release(made);
      std::vector<int> gradients;
      block.backward(kept, [&](int number) { gradients.push_back(number); });
      hp::extent_t parameters = 0;
      for (const hp::stack_parameter& p : s.block()) parameters += p.elements();
      EXPECT_EQ(m.now, 2 * parameters);
      EXPECT_EQ(gradients.size(), static_cast<std::size_t>(s.block().size));
      for (const int number : gradients) m.release(number);
      EXPECT_EQ(block.forward(kept, true, true), -1);
      EXPECT_EQ(m.now, kept_of(s));
    }
  });
}

/// The same of composed norms, which save a copy in f32 (under autocast the stream itself), what is weighed, and of each head likewise;
/// under autocast a bf16 copy of what each product reads and of its weight.
hp::extent_t composed_kept_of(const hp::stack_sizes& s) {
  const hp::extent_t n = s.tokens * s.hidden, heads = s.tokens * (s.query + s.key);
  hp::extent_t kept = 2 * s.tokens * (2 * s.query + 2 * s.key + 4 * s.width) + 4 * s.tokens * s.heads + 8 * s.tokens;
  if (s.head_normed) kept += (4 + 2) * heads + 4 * s.tokens * (s.heads + s.key_heads);
  if (!s.autocast) return kept + 2 * (4 + 2 + 2) * n;
  return kept + 4 * n + 2 * 4 * n + 5 * 2 * n + 2 * s.hidden * (2 * s.query + 2 * s.key + 3 * s.width);
}

TEST(StackBlock, ComposedOperatorsKeepCopies) {
  for (int bits = 0; bits < 8; ++bits) {
    hp::stack_sizes s = walked_tensors::small_sizes();
    s.sharded = false;
    s.composed = true;
    s.autocast = (bits & 1) != 0;
    s.head_normed = (bits & 2) != 0;
    s.biased = (bits & 4) != 0;
    counted_memory m;
    hp::stack_block<counted_memory> block(s, m);
    hp::stack_kept kept;
    m.release(block.forward(kept, false));
    for (int& number : kept.weight) block.drop(number);
    EXPECT_EQ(m.now, 0);
    m.release(block.forward(kept, true));
    EXPECT_EQ(m.now, composed_kept_of(s));
    int gradients = 0;
    block.backward(kept, [&](int number) {
      ++gradients;
      m.release(number);
    });
    EXPECT_EQ(m.now, 0);
    EXPECT_EQ(gradients, s.block().size);
  }
}

}  // namespace
