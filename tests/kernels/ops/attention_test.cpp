// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/ops/attention.hpp>

#include <gtest/gtest.h>

#include "attention_reference.hpp"

namespace {

using namespace kernel_test;
using hp::id_of;
using hp::operator_id;
namespace ops = hp::ops;

// Rows and keys on both sides of one and two tiles; fewer and more keys than positions.
const attention_sizes sizes[] = {
    {2, 3, 2, 2, 4, 3, 5, false, 0.5},    {1, 64, 1, 1, 8, 64, 8, true, 0.3},  {2, 65, 2, 1, 16, 65, 8, true, 0.25},
    {1, 70, 2, 3, 8, 130, 7, false, 0.3}, {1, 140, 1, 2, 4, 70, 3, true, 0.6}, {1, 20, 2, 2, 4, 150, 3, true, 0.6},
    {1, 3, 1, 1, 4, 200, 2, false, 20},
};

TEST(Attention, AgreesWithTheDefinition) {
  std::mt19937 random(1);
  for (const attention_sizes& z : sizes) {
    run_case<double> c(id_of<ops::attention>, attention_text, "nnn", z.options(), z.letters(), random);
    run_case<double> d(id_of<ops::attention_gradient>, attention_gradient_text, "nnnnnn", z.options(), z.letters(),
                       random);
    c.run_whole();
    d.operand = {d.operand[0], c.operand[0], c.operand[1], c.operand[2], c.result[0], c.result[1]};
    d.run_whole();
    const attention_values expected =
        attention_by_definition(z, c.operand[0].values, c.operand[1].values, c.operand[2].values, d.operand[0].values);
    EXPECT_LE(largest_difference(c.result[0].values, expected.o), 1e-13) << z.s << " positions, " << z.t << " keys";
    EXPECT_LE(largest_difference(c.result[1].values, expected.lse), 1e-13);
    EXPECT_LE(largest_difference(d.result[0].values, expected.dq), 1e-12);
    EXPECT_LE(largest_difference(d.result[1].values, expected.dk), 1e-12);
    EXPECT_LE(largest_difference(d.result[2].values, expected.dv), 1e-12);

    run_case<float> f(id_of<ops::attention>, attention_text, "nnn", z.options(), z.letters(), random);
    for (std::size_t i = 0; i < 3; ++i)
      f.operand[i].values.assign(c.operand[i].values.begin(), c.operand[i].values.end());
    f.run_whole();
    EXPECT_LE(largest_difference(std::vector<double>(f.result[0].values.begin(), f.result[0].values.end()), expected.o),
              z.scale > 1 ? 1e-4 : 1e-5);
  }
}

// The law: rows do not know which rows they are computed with, so cuts of positions, heads and batch keep every bit.
TEST(Attention, CutsOfRowsKeepTheBits) {
  std::mt19937 random(2);
  for (const bool causal : {false, true}) {
    const attention_sizes z{2, 70, 2, 2, 8, 130, 7, causal, 0.3};
    run_case<float> c(id_of<ops::attention>, attention_text, "nnn", z.options(), z.letters(), random);
    c.run_whole();
    run_case<float> d(id_of<ops::attention_gradient>, attention_gradient_text, "nnnnnn", z.options(), z.letters(),
                      random);
    d.operand = {d.operand[0], c.operand[0], c.operand[1], c.operand[2], c.result[0], c.result[1]};
    d.run_whole();
    for (run_case<float>* run : {&c, &d}) {
      std::vector<std::vector<extent_t>> cuts(at(run->op.loop_count));
      for (int l = 0; l < run->op.loop_count; ++l) {
        cuts[at(l)] = {run->op.loop[l].extent};
        if (run->letter_of(l) == 's') cuts[at(l)] = {1, 33, 70};
        if (run->letter_of(l) == 'b' || run->letter_of(l) == 'm' || run->letter_of(l) == 'g') cuts[at(l)] = {1, 2};
      }
      const auto joined = run->run_cut(cuts);
      EXPECT_EQ(joined[0].values, run->result[0].values);
      if (run == &c) {
        EXPECT_EQ(joined[1].values, c.result[1].values);
      }
    }
  }
}

TEST(Attention, RefusesOperandsWithoutKeys) {
  std::mt19937 random(3);
  run_case<float> c(id_of<ops::attention>, "bsD,bsD,bsE->bsE,bs", "nnn", {{0}, {1}}, random);
  EXPECT_THROW(c.run_whole(), std::invalid_argument);
}

}  // namespace
