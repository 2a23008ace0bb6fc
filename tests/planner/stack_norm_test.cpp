// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/stack_norm.hpp>

#include <gtest/gtest.h>

#include "walked_tensors.hpp"

namespace hp = hyperparallel;

namespace {

using walked_tensors::counted_memory;

// What a norm keeps is what its kind saves; its gradient releases that and comes in place of the incoming one.
TEST(StackNorm, GradientsReleaseWhatIsKept) {
  for (int bits = 0; bits < 8; ++bits) {
    hp::stack_sizes s = walked_tensors::small_sizes();
    s.composed = (bits & 1) != 0;
    s.autocast = (bits & 2) != 0;
    s.head_normed = (bits & 4) != 0;
    if (s.autocast && !s.composed) continue;  // no stack has it
    counted_memory m;
    hp::stack_norm<counted_memory> norm(s, m);
    const hp::extent_t n = s.tokens * s.hidden, stream = s.stream_bytes() * n;
    hp::norm_kept kept;
    int out = norm.normed(kept, true);
    const hp::extent_t saved = !s.composed ? 0 : s.autocast ? 4 * n : (4 + 2) * n;
    EXPECT_EQ(m.now, stream + 4 * s.tokens + saved);
    hp::extent_t weights = 0;
    const auto each = [&](int number) { weights += m.requested(number); };
    norm.norm_gradient(out, kept, each);
    EXPECT_EQ(m.now, stream + weights);
    EXPECT_EQ(weights, (s.autocast ? 4 : 2) * s.hidden);
    norm.drop(out);

    hp::norm_kept of_heads;
    int raw = -1;
    weights = m.now;
    int query = norm.head_normed(norm.projected(s.query), s.query, s.heads, of_heads, raw, true);
    const hp::extent_t heads = s.tokens * s.query;
    EXPECT_EQ(m.now - weights,
              2 * heads + (!s.head_normed ? 0 : 4 * s.tokens * s.heads + (s.composed ? 6 : 2) * heads));
    norm.head_norm_gradient(query, s.query, of_heads, raw, each);
    EXPECT_EQ(m.now, 2 * heads + weights);
  }
}

}  // namespace
