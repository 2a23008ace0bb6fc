// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/ops/attention_problem.hpp>

#include <gtest/gtest.h>

#include "operator_cases.hpp"

namespace {

using namespace kernel_test;
namespace mk = hp::kernels;

// Positions before keys, after them, and in their midst: the number of seen keys is the definition's.
TEST(AttentionProblem, RowsSeeTheKeysUpToTheirPosition) {
  std::mt19937 random(1);
  const run_case<float> c(hp::id_of<hp::ops::attention>, "bsmgD,bTmD,bTmE->bsmgE,bsmg", "nnn", {{1}, {1}}, random);
  const hp::graph_operator& o = c.op;
  const hp::tensor_factors *query[] = {&c.rule().operand[0]}, *key[] = {&c.rule().operand[1]};
  for (const extent_t first_position : {0, 3, 20})
    for (const extent_t first_key : {0, 3, 10}) {
      hp::operator_call call = c.whole();
      for (int l = 0; l < o.loop_count; ++l) {
        if (c.letter_of(l) == 's') call.loop[l].begin = first_position;
        if (c.letter_of(l) == 'T') call.loop[l].begin = first_key;
      }
      mk::detail::attention_problem g;
      mk::detail::read_geometry(call, 1, query, key, c.rule().operand[2], c.rule().result[0], c.rule().result[1], g);
      for (extent_t r = 0; r < g.rows; ++r) {
        extent_t seen = 0;
        for (extent_t t = 0; t < g.keys; ++t) seen += first_key + t <= first_position + r / g.per_position ? 1 : 0;
        EXPECT_EQ(g.seen(r), (hp::interval{0, seen}));
      }
      g.causal = false;
      EXPECT_EQ(g.seen(0), (hp::interval{0, g.keys}));
    }
}

TEST(AttentionProblem, ReadsHeadsRowsAndSteps) {
  std::mt19937 random(2);
  const run_case<float> c(hp::id_of<hp::ops::latent_attention>, "bsnD,bsnR,bTnD,bTR,bTnE->bsnE,bsn", "nnnnn",
                          {{0}, {0.5}}, random);
  const hp::graph_operator& o = c.op;
  const hp::operator_call call = c.whole();
  const hp::tensor_factors *query[] = {&c.rule().operand[0], &c.rule().operand[1]},
                           *key[] = {&c.rule().operand[2], &c.rule().operand[3]};
  mk::detail::attention_problem g;
  mk::detail::read_geometry(call, 2, query, key, c.rule().operand[4], c.rule().result[0], c.rule().result[1], g);
  extent_t extent[128] = {};
  for (int l = 0; l < o.loop_count; ++l) extent[static_cast<int>(c.letter_of(l))] = o.loop[l].extent;
  EXPECT_EQ(mk::detail::points_of(call, g.heads), extent['b'] * extent['n']);
  EXPECT_EQ(g.rows, extent['s']);
  EXPECT_EQ(g.keys, extent['T']);
  EXPECT_EQ(g.width, extent['E']);
  EXPECT_EQ(g.depth[0], extent['D']);
  EXPECT_EQ(g.depth[1], extent['R']);
  EXPECT_EQ(g.key_step[0], extent['n'] * extent['D']);
  EXPECT_EQ(g.key_step[1], extent['R']);
  EXPECT_EQ(g.value_step, extent['n'] * extent['E']);
  EXPECT_EQ(g.query_row[0][1], extent['n'] * extent['D']);
  EXPECT_EQ(g.query_row[1][1], extent['n'] * extent['R']);
  EXPECT_EQ(g.scale, 0.5);
}

}  // namespace
