// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/ops/attention_ring.hpp>

#include <gtest/gtest.h>

#include "attention_reference.hpp"

namespace {

using namespace kernel_test;
using hp::id_of;
using hp::operator_id;
namespace ops = hp::ops;

constexpr double infinity = std::numeric_limits<double>::infinity();

hp::operator_call with_keys(const run_case<double>& c, extent_t begin, extent_t count) {
  hp::operator_call call = c.whole();
  for (int l = 0; l < c.op.loop_count; ++l)
    if (c.letter_of(l) == 'T') call.loop[l] = {begin, count, c.op.loop[l].extent};
  return call;
}

// Blocks in every order, the last device's first: joined they are the whole, and so are their gradients.
TEST(AttentionRing, JoinedBlocksAreTheWhole) {
  std::mt19937 random(1);
  for (const bool causal : {false, true})
    for (const std::vector<extent_t>& order : {std::vector<extent_t>{0, 1, 2}, {2, 1, 0}, {1, 2, 0}}) {
      const extent_t block = 70;
      const attention_sizes z{1, 3 * block, 2, 2, 4, 3 * block, 5, causal, 0.4};
      run_case<double> c(id_of<ops::attention_block>, attention_text, "nnn", z.options(), z.letters(), random);
      run_case<double> join(id_of<ops::attention_merge>, "bsmgE,bsmg,bsmgE,bsmg->bsmgE,bsmg", "nnnn", {}, z.letters(),
                            random);
      run_case<double> d(id_of<ops::attention_block_gradient>, attention_gradient_text, "nnnnnn", z.options(),
                         z.letters(), random);
      std::vector<case_block<double>> so_far;
      for (const extent_t b : order) {
        const auto part = c.run_box(with_keys(c, b * block, block));
        if (so_far.empty()) {
          so_far = part;
          continue;
        }
        join.operand = {so_far[0], so_far[1], part[0], part[1]};
        join.run_whole();
        so_far = join.result;
      }
      d.operand = {d.operand[0], c.operand[0], c.operand[1], c.operand[2], so_far[0], so_far[1]};
      const attention_values expected = attention_by_definition(z, c.operand[0].values, c.operand[1].values,
                                                                c.operand[2].values, d.operand[0].values);
      EXPECT_LE(largest_difference(so_far[0].values, expected.o), 1e-13);
      EXPECT_LE(largest_difference(so_far[1].values, expected.lse), 1e-13);
      std::vector<std::vector<extent_t>> cuts(at(d.op.loop_count));
      for (int l = 0; l < d.op.loop_count; ++l) {
        cuts[at(l)] = {d.op.loop[l].extent};
        if (d.letter_of(l) == 'T') cuts[at(l)] = {block, 2 * block, 3 * block};
      }
      const auto gradient = d.run_cut(cuts);
      EXPECT_LE(largest_difference(gradient[0].values, expected.dq), 1e-12);
      EXPECT_LE(largest_difference(gradient[1].values, expected.dk), 1e-12);
      EXPECT_LE(largest_difference(gradient[2].values, expected.dv), 1e-12);
    }
}

// A block of keys after all rows: nothing is seen, and its join changes no bit, on either side.
TEST(AttentionRing, BlocksThatNoRowSeesChangeNothing) {
  std::mt19937 random(2);
  const attention_sizes z{1, 4, 1, 2, 4, 8, 3, true, 0.5};
  run_case<double> c(id_of<ops::attention_block>, attention_text, "nnn", z.options(), z.letters(), random);
  const auto blind = c.run_box(with_keys(c, 4, 4)), seen = c.run_box(with_keys(c, 0, 4));
  for (const double x : blind[0].values) EXPECT_EQ(x, 0);
  for (const double x : blind[1].values) EXPECT_EQ(x, -infinity);
  run_case<double> join(id_of<ops::attention_merge>, "bsmgE,bsmg,bsmgE,bsmg->bsmgE,bsmg", "nnnn", {}, z.letters(),
                        random);
  for (const int first : {0, 1}) {
    const auto &a = first == 0 ? blind : seen, &b = first == 0 ? seen : blind;
    join.operand = {a[0], a[1], b[0], b[1]};
    join.run_whole();
    EXPECT_EQ(join.result[0].values, seen[0].values);
    EXPECT_EQ(join.result[1].values, seen[1].values);
  }
  join.operand = {blind[0], blind[1], blind[0], blind[1]};
  join.run_whole();
  EXPECT_EQ(join.result[0].values, blind[0].values);
  EXPECT_EQ(join.result[1].values, blind[1].values);

  run_case<double> d(id_of<ops::attention_block_gradient>, attention_gradient_text, "nnnnnn", z.options(), z.letters(),
                     random);
  d.operand = {d.operand[0], c.operand[0], c.operand[1], c.operand[2], seen[0], seen[1]};
  for (const case_block<double>& block : d.run_box(with_keys(d, 4, 4)))
    for (const double x : block.values) EXPECT_EQ(x, 0);
}

}  // namespace
