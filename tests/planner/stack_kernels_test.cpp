// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/stack_kernels.hpp>

#include <gtest/gtest.h>

#include "recorded_kernels.hpp"
#include "walked_tensors.hpp"

namespace hp = hyperparallel;

namespace {

using recorded_kernels::recorder;

struct block_kernels {
  recorder forward{}, again{}, backward{};
  explicit block_kernels(const hp::stack_sizes& s) {
    hp::stack_kernels<recorder>(s, forward).forward(false);
    hp::stack_kernels<recorder>(s, again).forward(true);
    hp::stack_kernels<recorder>(s, backward).backward();
  }
};

hp::extent_t products_of(const hp::stack_sizes& s) {
  return 2 * s.tokens * s.hidden * (2 * s.query + 2 * s.key + 3 * s.width);
}

/// Sizes with each set of the flags that bits name.
hp::stack_sizes flagged(int bits) {
  hp::stack_sizes s = walked_tensors::small_sizes();
  s.compiled = (bits & 1) != 0;
  s.composed = !s.compiled && (bits & 2) != 0;
  s.autocast = s.composed && (bits & 4) != 0;
  s.head_normed = (bits & 8) != 0;
  s.biased = (bits & 16) != 0;
  return s;
}

// Forward multiplies by each weight once, backward twice; what is computed again leaves out the last product, but where it is compiled.
TEST(StackKernels, ProductsAreThoseOfTheBlock) {
  for (int bits = 0; bits < 32; ++bits) {
    const hp::stack_sizes s = flagged(bits);
    const block_kernels k(s);
    EXPECT_EQ(k.forward.operations[0], products_of(s));
    EXPECT_EQ(k.backward.operations[0], 0);
    EXPECT_EQ(k.backward.operations[1], products_of(s));
    EXPECT_EQ(k.backward.operations[2], products_of(s));
    EXPECT_EQ(k.again.operations[0], products_of(s) - (s.compiled ? 0 : 2 * s.tokens * s.width * s.hidden));
    EXPECT_EQ(k.forward.attentions, 1);
    EXPECT_EQ(k.again.attentions, 1);
    EXPECT_EQ(k.backward.attentions_back, 1);
    EXPECT_LE(k.again.kernels, k.forward.kernels);
    EXPECT_GT(k.backward.kernels, k.forward.kernels);
  }
}

// Selective checkpoints multiply again by every other weight, as a block without a bias by key, output and up, and never attend again.
TEST(StackKernels, SelectiveCheckpointsComputeTheRest) {
  for (const bool biased : {false, true})
    for (const bool compiled : {false, true})
      for (const bool cut : {false, true}) {
        hp::stack_sizes s = walked_tensors::small_sizes(cut);
        s.biased = biased;
        s.compiled = compiled;
        s.recomputed = true;
        const block_kernels whole(s);
        s.selective = true;
        const block_kernels k(s);
        hp::extent_t columns = s.key + s.width + (cut && compiled ? 0 : s.query);
        if (biased) columns = s.query + 2 * s.key + s.width + (compiled ? s.width : 0);
        EXPECT_EQ(k.again.operations[0], 2 * s.tokens * s.hidden * columns) << biased << compiled << cut;
        EXPECT_EQ(k.again.attentions, 0);
        EXPECT_LT(k.again.kernels, whole.again.kernels);
        EXPECT_EQ(k.forward.kernels, whole.forward.kernels);
        EXPECT_EQ(k.backward.kernels, whole.backward.kernels);
      }
}

// The bytes of eager passes, counted by operator: two norms and two sums of the stream, a rotation of 20 bytes an element, an
// activation and its product of 10.
TEST(StackKernels, EagerPassesAreCounted) {
  const hp::stack_sizes s = walked_tensors::small_sizes();
  const block_kernels k(s);
  const hp::extent_t stream = s.tokens * s.hidden, heads = s.tokens * (s.query + s.key), width = s.tokens * s.width;
  EXPECT_EQ(k.forward.bytes, 12 * stream + 10 * width);
  EXPECT_EQ(k.forward.row_bytes, 8 * stream + 20 * heads);
  EXPECT_EQ(k.forward.kernels, 2 + 2 + 10 + 2 + 7 + 1);
  EXPECT_EQ(k.backward.bytes, (18 + 12) * stream + 18 * width);
  EXPECT_EQ(k.backward.row_bytes, 20 * stream + 20 * heads);
}

// Without a gate one product leads into the width, and its activation is a pass of its own; without rotation there is none.
TEST(StackKernels, BlocksWithoutGateOrRotationHaveFewerKernels) {
  for (const bool compiled : {false, true}) {
    hp::stack_sizes s = walked_tensors::small_sizes();
    s.compiled = compiled;
    s.gated = s.rotated = false;
    const block_kernels k(s);
    const hp::extent_t stream = s.tokens * s.hidden, width = s.tokens * s.width;
    EXPECT_EQ(k.forward.operations[0], 2 * s.tokens * s.hidden * (2 * s.query + 2 * s.key + 2 * s.width));
    EXPECT_EQ(k.backward.operations[1], k.forward.operations[0]);
    EXPECT_EQ(k.backward.operations[2], k.forward.operations[0]);
    if (compiled) continue;
    EXPECT_EQ(k.forward.bytes, 12 * stream + 4 * width);
    EXPECT_EQ(k.forward.row_bytes, 8 * stream);
    EXPECT_EQ(k.forward.kernels, 2 + 2 + 1 + 6 + 1);
    EXPECT_EQ(k.backward.bytes, (18 + 6) * stream + 6 * width);
  }
}

// Compiled blocks pass less and launch less; composed norms more; autocast casts every weight, forward and backward.
TEST(StackKernels, StacksDiffer) {
  const block_kernels eager(flagged(0)), compiled(flagged(1)), composed(flagged(2)), autocast(flagged(6));
  const auto passed = [](const recorder& r) { return r.bytes + r.row_bytes; };
  EXPECT_LT(passed(compiled.forward), passed(eager.forward));
  EXPECT_LT(passed(compiled.backward), passed(eager.backward));
  EXPECT_LT(compiled.forward.kernels, eager.forward.kernels);
  EXPECT_GT(passed(composed.forward), passed(eager.forward));
  EXPECT_GT(composed.backward.kernels, eager.backward.kernels);
  const hp::stack_sizes s = flagged(0);
  const hp::extent_t weights = s.hidden * (2 * s.query + 2 * s.key + 3 * s.width);
  EXPECT_GT(passed(autocast.forward), passed(composed.forward) / 2 + 6 * weights);
}

// A tensor that tp cuts is gathered before and scattered after each of both pairs of products.
TEST(StackKernels, CutStreamsAreGathered) {
  hp::stack_sizes s = walked_tensors::small_sizes();
  s.is_cut = true;
  s.shard_tokens = s.tokens / 2;
  const block_kernels whole(walked_tensors::small_sizes()), cut(s);
  EXPECT_EQ(cut.forward.kernels, whole.forward.kernels + 4);
  EXPECT_EQ(cut.backward.kernels, whole.backward.kernels + 4);
  EXPECT_EQ(cut.forward.operations[0], whole.forward.operations[0]);
}

}  // namespace
