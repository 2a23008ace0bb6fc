// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/stack_tensors.hpp>

#include <gtest/gtest.h>

#include "walked_tensors.hpp"

namespace hp = hyperparallel;

namespace {

using walked_tensors::counted_memory;

// Each tensor has the bytes of its definition, and is gone when it is dropped.
TEST(StackTensors, HaveTheirBytes) {
  for (int bits = 0; bits < 4; ++bits) {
    hp::stack_sizes s = walked_tensors::small_sizes((bits & 1) != 0);
    s.autocast = (bits & 2) != 0;
    counted_memory m;
    hp::stack_tensors<counted_memory> tensors(s, m);
    const hp::extent_t stream = (s.autocast ? 4 : 2) * s.shard_tokens * s.hidden;
    const auto has = [&](int number, hp::extent_t bytes) {
      EXPECT_EQ(m.now, bytes);
      tensors.drop(number);
      EXPECT_EQ(m.now, 0);
      EXPECT_EQ(number, -1);
      tensors.drop(number);
    };
    has(tensors.residuals(), stream);
    has(tensors.projected(7), 2 * s.tokens * 7);
    has(tensors.rows_of(3), 4 * s.shard_tokens * 3);
    has(tensors.weight(11), (s.autocast ? 4 : 2) * 11);
    has(tensors.gathered(tensors.residuals()), s.is_cut ? 2 * s.tokens * s.hidden : stream);
    has(tensors.scattered(tensors.projected(s.hidden)), s.is_cut ? stream : 2 * s.tokens * s.hidden);
  }
}

}  // namespace
