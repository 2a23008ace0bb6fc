// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/ops/optimizer.hpp>

#include <gtest/gtest.h>

#include "operator_cases.hpp"

namespace {

using namespace kernel_test;
using hp::id_of;
using hp::operator_id;
namespace ops = hp::ops;

TEST(Optimizer, SgdAgreesWithTheFormula) {
  std::mt19937 random(1);
  run_case<double> c(id_of<ops::sgd>, "xy,xy,xy,->xy,xy", "nnnp", {{}, {0.1, 0.9, 0.01}}, random);
  c.run_whole();
  for (std::size_t i = 0; i < c.result[0].values.size(); ++i) {
    const double p = c.operand[0].values[i], clip = c.operand[3].values[0];
    const double m = 0.9 * c.operand[2].values[i] + clip * c.operand[1].values[i] + 0.01 * p;
    EXPECT_NEAR(c.result[0].values[i], p - 0.1 * m, 1e-15);
    EXPECT_NEAR(c.result[1].values[i], m, 1e-15);
  }
}

// Steps from zero moments: the first moves every element by the rate, against its gradient's sign.
TEST(Optimizer, AdamWAgreesWithTheFormulaStepByStep) {
  std::mt19937 random(2);
  const double rate = 0.1, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-12, decay = 0.01;
  const case_options options{{}, {rate, beta1, beta2, epsilon, decay}};
  run_case<double> c(id_of<ops::adamw>, "xy,xy,xy,xy,->xy,xy,xy", "nnnnp", options, random);
  letter_extents extents("", random);
  extents.of[static_cast<int>('x')] = c.op.loop[0].extent;
  extents.of[static_cast<int>('y')] = c.op.loop[1].extent;
  run_case<double> master(id_of<ops::adamw_master>, "xy,xy,xy,xy,xy,->xy,xy,xy,xy", "nnnnnp", options, extents, random);
  const std::size_t n = c.operand[0].values.size();
  c.operand[2].values.assign(n, 0);
  c.operand[3].values.assign(n, 0);
  std::vector<double> p = c.operand[0].values, m(n), v(n);
  for (int step = 1; step <= 4; ++step) {
    hp::operator_call call = c.whole();
    call.step = step;
    master.operand = {master.operand[0], c.operand[1], c.operand[0], c.operand[2], c.operand[3], c.operand[4]};
    const auto out = c.run_box(call);
    hp::operator_call master_call = master.whole();
    master_call.step = step;
    const auto master_out = master.run_box(master_call);
    for (std::size_t i = 0; i < n; ++i) {
      const double g = c.operand[4].values[0] * c.operand[1].values[i], before = p[i];
      m[i] = beta1 * m[i] + (1 - beta1) * g;
      v[i] = beta2 * v[i] + (1 - beta2) * g * g;
      p[i] -= rate * (m[i] / (1 - std::pow(beta1, step)) / (std::sqrt(v[i] / (1 - std::pow(beta2, step))) + epsilon) +
                      decay * p[i]);
      if (step == 1) {
        EXPECT_NEAR(p[i] - before + rate * decay * before, g > 0 ? -rate : rate, 1e-9);
      }
    }
    EXPECT_LE(largest_difference(out[0].values, p), 1e-13);
    EXPECT_LE(largest_difference(out[1].values, m), 1e-13);
    EXPECT_LE(largest_difference(out[2].values, v), 1e-13);
    EXPECT_EQ(master_out[0].values, out[0].values);
    for (std::size_t r = 0; r < 3; ++r) EXPECT_EQ(master_out[r + 1].values, out[r].values);
    c.operand[0] = out[0];
    c.operand[2] = out[1];
    c.operand[3] = out[2];
    for (double& g : c.operand[1].values) g = -0.5 * g + 0.1;
  }
}

/// Five steps of the polynomial on one singular value.
double iterated(double s) {
  for (int step = 0; step < 5; ++step) s = 3.4445 * s - 4.7750 * s * s * s + 2.0315 * s * s * s * s * s;
  return s;
}

// On a diagonal matrix the iteration acts on each singular value by itself; a rotation on either side passes through.
TEST(Optimizer, OrthogonalisationActsOnSingularValues) {
  const double s[3] = {3, 1, 0.4}, norm = std::sqrt(9 + 1 + 0.16);
  const double cosine = std::cos(0.7), sine = std::sin(0.7);
  const double turn[9] = {cosine, -sine, 0, sine, cosine, 0, 0, 0, 1};  // columns are the left vectors
  std::vector<double> x(15), expected(15);
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t i = 0; i < 3; ++i) {
      x[r * 5 + i + 1] = turn[r * 3 + i] * s[i];
      expected[r * 5 + i + 1] = turn[r * 3 + i] * iterated(s[i] / (norm + 1e-7));
    }
  hp::kernels::detail::orthogonalise<double>(3, 5, x.data());
  EXPECT_LE(largest_difference(x, expected), 1e-13);
}

TEST(Optimizer, MuonTakesSidesOfSeveralDimsAndTallMatrices) {
  std::mt19937 random(3);
  for (const bool tall : {false, true}) {
    letter_extents extents("", random);
    extents.of[static_cast<int>('a')] = 2;
    extents.of[static_cast<int>('Y')] = tall ? 12 : 4;
    extents.of[static_cast<int>('U')] = extents.of[static_cast<int>('V')] = 3;
    run_case<double> c(id_of<ops::muon>, "aYUV,aYUV,aYUV,->aYUV,aYUV", "nnnp", {{1, 2}, {0.1, 0.9, 0.01}}, extents,
                       random);
    c.run_whole();
    const extent_t rows = extents.of[static_cast<int>('Y')], columns = 9;
    const double clip = c.operand[3].values[0], scale = tall ? std::sqrt(12.0 / 9) : 1;
    for (extent_t matrix = 0; matrix < 2; ++matrix) {
      std::vector<double> x(at(rows * columns));
      for (extent_t r = 0; r < rows; ++r)
        for (extent_t i = 0; i < columns; ++i) {
          const std::size_t place = at((matrix * rows + r) * columns + i);
          const double g = clip * c.operand[1].values[place], m = 0.9 * c.operand[2].values[place] + g;
          EXPECT_NEAR(c.result[1].values[place], m, 1e-14);
          x[at(tall ? i * rows + r : r * columns + i)] = g + 0.9 * m;
        }
      hp::kernels::detail::orthogonalise(tall ? columns : rows, tall ? rows : columns, x.data());
      for (extent_t r = 0; r < rows; ++r)
        for (extent_t i = 0; i < columns; ++i) {
          const std::size_t place = at((matrix * rows + r) * columns + i);
          const double p = c.operand[0].values[place];
          EXPECT_NEAR(c.result[0].values[place],
                      p - 0.1 * (scale * x[at(tall ? i * rows + r : r * columns + i)] + 0.01 * p), 1e-13);
        }
    }
  }
}

// What is updated is the master, whatever the parameter holds; its next value is the master's.
TEST(Optimizer, MastersAreUpdatedAsParametersAre) {
  std::mt19937 random(5);
  struct pair {
    operator_id narrow, wide;
    const char *narrow_text, *wide_text;
    case_options options;
  };
  const pair pairs[] = {
      {id_of<ops::sgd_master>, id_of<ops::sgd>, "yz,yz,yz,yz,->yz,yz,yz", "yz,yz,yz,->yz,yz", {{}, {0.1, 0.9, 0.01}}},
      {id_of<ops::muon_master>,
       id_of<ops::muon>,
       "YZ,YZ,YZ,YZ,->YZ,YZ,YZ",
       "YZ,YZ,YZ,->YZ,YZ",
       {{0, 1}, {0.1, 0.9, 0.01}}}};
  for (const pair& each : pairs) {
    letter_extents extents("", random);
    for (const char letter : {'y', 'Y'}) extents.of[static_cast<int>(letter)] = 4;
    for (const char letter : {'z', 'Z'}) extents.of[static_cast<int>(letter)] = 3;
    run_case<double> narrow(each.narrow, each.narrow_text, "nnnnp", each.options, extents, random);
    run_case<double> wide(each.wide, each.wide_text, "nnnp", each.options, extents, random);
    wide.operand = {narrow.operand[2], narrow.operand[1], narrow.operand[3], narrow.operand[4]};
    narrow.run_whole();
    wide.run_whole();
    EXPECT_NE(narrow.operand[0].values, narrow.operand[2].values);
    EXPECT_EQ(narrow.result[0].values, wide.result[0].values) << each.narrow_text;
    EXPECT_EQ(narrow.result[1].values, wide.result[0].values) << each.narrow_text;
    EXPECT_EQ(narrow.result[2].values, wide.result[1].values) << each.narrow_text;
  }
}

TEST(Optimizer, MuonRefusesAPartOfAMatrix) {
  std::mt19937 random(4);
  const run_case<double> c(id_of<ops::muon>, "YZ,YZ,YZ,->YZ,YZ", "nnnp", {{0, 1}, {0.1}}, random);
  hp::operator_call part = c.whole();
  part.loop[0].extent = 1;
  EXPECT_THROW(c.run_box(part), std::invalid_argument);
  const run_case<double> untold(id_of<ops::muon>, "YZ,YZ,YZ,->YZ,YZ", "nnnp", {{0, 0}, {0.1}}, random);
  EXPECT_THROW(untold.run_box(untold.whole()), std::invalid_argument);
}

TEST(Optimizer, NormsClipAndBiasesMoveAgainstTheCounts) {
  std::mt19937 random(5);
  letter_extents extents("", random);
  extents.of[static_cast<int>('x')] = 100000;
  run_case<float> squares(id_of<ops::sum_of_squares>, "x->", "n", {}, extents, random);
  for (float& x : squares.operand[0].values) x = 0.1F;
  squares.run_whole();
  EXPECT_FLOAT_EQ(squares.result[0].values[0], 1000.0F);
  for (const double sum : {0.0, 0.25, 4.0}) {
    run_case<double> clip(id_of<ops::clip_factor>, "->", "p", {{}, {1.5}}, random);
    clip.operand[0].values[0] = sum;
    clip.run_whole();
    EXPECT_EQ(clip.result[0].values[0], sum > 2.25 ? 0.75 : 1.0);
  }
  extents.of[static_cast<int>('E')] = 4;
  run_case<double> bias(id_of<ops::update_bias>, "E,E->E", "nn", {{}, {0.5}}, extents, random);
  bias.operand[0].values = {1, 1, 1, 1};
  bias.operand[1].values = {3, 5, 4, 4};
  bias.run_whole();
  EXPECT_EQ(bias.result[0].values, (std::vector<double>{1.5, 0.5, 1, 1}));
}

}  // namespace
