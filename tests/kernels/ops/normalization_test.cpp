// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/ops/normalization.hpp>

#include <gtest/gtest.h>

#include "operator_cases.hpp"

namespace {

using namespace kernel_test;
using hp::id_of;
using hp::operator_id;
namespace ops = hp::ops;

letter_extents sizes(std::initializer_list<std::pair<char, extent_t>> given) {
  std::mt19937 random(0);
  letter_extents e("", random);
  for (const auto& [letter, extent] : given) e.of[static_cast<int>(letter)] = extent;
  return e;
}

// More rows than one block of the weight's gradient, rows longer than the lanes.
TEST(Normalization, AgreesWithTheFormulas) {
  std::mt19937 random(1);
  const extent_t rows = 150, width = 37;
  const letter_extents extents = sizes({{'x', rows}, {'H', width}});
  run_case<double> y(id_of<ops::rms_norm>, "xH,H->xH", "nn", {{}, {1e-3}}, extents, random);
  run_case<double> d(id_of<ops::rms_norm_gradient>, "xH,xH,H->xH,H", "nnn", {{}, {1e-3}}, extents, random);
  d.operand[1] = y.operand[0];
  d.operand[2] = y.operand[1];
  y.run_whole();
  d.run_whole();
  std::vector<double> out, dx, dw(at(width));
  for (extent_t r = 0; r < rows; ++r) {
    const double *x = y.operand[0].values.data() + r * width, *w = y.operand[1].values.data();
    const double* dy = d.operand[0].values.data() + r * width;
    double squares = 0, mean = 0;
    for (extent_t i = 0; i < width; ++i) squares += x[i] * x[i];
    const double by = 1 / std::sqrt(squares / static_cast<double>(width) + 1e-3);
    for (extent_t i = 0; i < width; ++i) mean += w[i] * dy[i] * x[i] * by / static_cast<double>(width);
    for (extent_t i = 0; i < width; ++i) {
      out.push_back(x[i] * by * w[i]);
      dx.push_back((w[i] * dy[i] - x[i] * by * mean) * by);
      dw[at(i)] += dy[i] * x[i] * by;
    }
  }
  EXPECT_LE(largest_difference(y.result[0].values, out), 1e-14);
  EXPECT_LE(largest_difference(d.result[0].values, dx), 1e-14);
  EXPECT_LE(largest_difference(d.result[1].values, dw), 1e-13);
}

run_case<double> turned(extent_t sign, std::mt19937& random) {
  const letter_extents extents = sizes({{'b', 2}, {'s', 5}, {'x', 3}, {'D', 8}});
  return {id_of<ops::rope>, "bsxD->bsxD", "n", {{sign}, {100}}, extents, random};
}

TEST(Normalization, PairsTurnByTheirPosition) {
  std::mt19937 random(2);
  run_case<double> c = turned(1, random);
  c.run_whole();
  for (extent_t row = 0; row < 2 * 5 * 3; ++row)
    for (extent_t i = 0; i < 4; ++i) {
      const double angle = static_cast<double>(row / 3 % 5) * std::pow(100, -static_cast<double>(i) / 4);
      const double a = c.operand[0].values[at(row * 8 + i)], b = c.operand[0].values[at(row * 8 + i + 4)];
      EXPECT_NEAR(c.result[0].values[at(row * 8 + i)], a * std::cos(angle) - b * std::sin(angle), 1e-14);
      EXPECT_NEAR(c.result[0].values[at(row * 8 + i + 4)], b * std::cos(angle) + a * std::sin(angle), 1e-14);
    }
}

TEST(Normalization, TurningBackGivesTheOperand) {
  std::mt19937 random(3);
  run_case<double> there = turned(1, random), back = turned(-1, random);
  there.run_whole();
  back.operand[0] = there.result[0];
  back.run_whole();
  EXPECT_LE(largest_difference(back.result[0].values, there.operand[0].values), 1e-14);
}

// The table of angles is kept between calls: other bases, sizes and positions must not meet an old one.
TEST(Normalization, TablesOfAnglesAreNotMixedUp) {
  hp::kernels::detail::rotation_table<double> kept;
  for (const double base : {100.0, 50.0})
    for (const extent_t pairs : {2, 3})
      for (const extent_t begin : {0, 4})
        for (const extent_t count : {3, 6, 2}) {
          const double* const table = kept.at(base, pairs, begin, count);
          for (extent_t p = 0; p < count; ++p)
            for (extent_t i = 0; i < pairs; ++i) {
              const double angle =
                  static_cast<double>(begin + p) * std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs));
              EXPECT_EQ(table[2 * p * pairs + i], std::cos(angle));
              EXPECT_EQ(table[(2 * p + 1) * pairs + i], std::sin(angle));
            }
        }
}

TEST(Normalization, RefusesAnOddNumberOfDims) {
  std::mt19937 random(4);
  const letter_extents odd = sizes({{'b', 1}, {'s', 2}, {'D', 3}});
  EXPECT_THROW(run_case<float>(id_of<ops::rope>, "bsD->bsD", "n", {{1}, {100}}, odd, random).run_whole(),
               std::invalid_argument);
}

}  // namespace
