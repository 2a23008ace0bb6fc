// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/check/operator_sample.hpp>

#include <hyperparallel/kernels/ops/builtin_kernels.hpp>

#include <gtest/gtest.h>

#include <set>

namespace {

namespace hp = hyperparallel;
using hp::extent_t;

struct samples {
  hp::detail::checked_operator checked;
  hp::operator_options how;
  hp::operator_check_options options;
  hp::detail::keyed_sequence random{3};

  samples(hp::operator_id op, int operands) : checked{hp::builtin_list, op, &hp::kernel_of<double>, operands} {}
  hp::detail::operator_sample draw() { return {checked, how, options, random}; }
};

TEST(OperatorSample, DrawsRanksExtentsAndValuesInTheirBounds) {
  samples s(hp::id_of<hp::ops::multiply>, 2);
  s.options.largest = 3;
  s.options.lowest = -2;
  s.options.positive = 0b10;
  std::set<int> ranks;
  std::set<extent_t> extents;
  for (int round = 0; round < 60; ++round) {
    const hp::detail::operator_sample sample = s.draw();
    ASSERT_EQ(sample.complaint, "");
    const hp::shape& shape = sample.model().tensor[0].shape;
    ranks.insert(shape.rank);
    for (int d = 0; d < shape.rank; ++d) extents.insert(shape.extent[d]);
    for (const double x : sample.operand[0].value) EXPECT_TRUE(x >= -2 && x < 1 && std::abs(x) >= 1e-2) << x;
    for (const double x : sample.operand[1].value) EXPECT_GT(x, 0);
  }
  EXPECT_EQ(ranks, (std::set<int>{0, 1, 2}));
  EXPECT_EQ(extents, (std::set<extent_t>{1, 2, 3}));
}

// The last part of a text is repeated: a sum of three.
TEST(OperatorSample, TakesAsManyOperandsAsAsked) {
  samples s(hp::id_of<hp::ops::sum>, 3);
  const hp::detail::operator_sample sample = s.draw();
  ASSERT_EQ(sample.complaint, "");
  const hp::detail::sampled_results all = sample.run(sample.whole(), sample.operand);
  ASSERT_EQ(all.size(), 1u);
  for (std::size_t e = 0; e < all[0].size(); ++e)
    EXPECT_DOUBLE_EQ(all[0][e], sample.operand[0].value[e] + sample.operand[1].value[e] + sample.operand[2].value[e]);
}

// Numbers stay below the extent of the factor that the operator names, and differ within a row as far as they can.
TEST(OperatorSample, NumbersAreRowsOfWhatTheyIndex) {
  samples s(hp::id_of<hp::ops::dispatch>, 2);
  s.options.extent_of = [](char letter, extent_t drawn) { return letter == 'K' ? 2 : drawn + 1; };
  for (int round = 0; round < 30; ++round) {
    const hp::detail::operator_sample sample = s.draw();
    ASSERT_EQ(sample.complaint, "");
    EXPECT_TRUE(sample.holds_numbers(1) && !sample.holds_numbers(0));
    const extent_t experts = sample.model().tensor[sample.first_result].shape.extent[1];
    const std::vector<std::int32_t>& number = sample.operand[1].number;
    for (std::size_t i = 0; i < number.size(); i += 2) {
      EXPECT_TRUE(number[i] >= 0 && number[i] < experts);
      EXPECT_NE(number[i], number[i + 1]);
    }
  }
}

// A box gives its part of the whole.
TEST(OperatorSample, RunsABoxOnItsPartOfTheOperands) {
  samples s(hp::id_of<hp::ops::scale>, 1);
  s.how.real[0] = 3;
  s.options.extent_of = [](char, extent_t) { return extent_t{4}; };
  for (int round = 0; round < 10; ++round) {
    const hp::detail::operator_sample sample = s.draw();
    if (sample.op().loop_count == 0) continue;
    hp::operator_call box = sample.whole();
    box.loop[0].begin = 1;
    box.loop[0].extent = 2;
    const std::vector<double> part = sample.run(box, sample.operand)[0];
    const std::size_t row = sample.operand[0].value.size() / 4;
    ASSERT_EQ(part.size(), 2 * row);
    for (std::size_t e = 0; e < part.size(); ++e) EXPECT_DOUBLE_EQ(part[e], 3 * sample.operand[0].value[row + e]);
  }
}

TEST(OperatorSample, SaysWhyThereIsNone) {
  samples s(hp::id_of<hp::ops::contract>, 2);
  s.how.text = "ab,bc";
  EXPECT_EQ(s.draw().complaint, "its rule \"ab,bc\" is none: text_is_malformed, 5");
  s.how.text = "ab,bc->acd";  // nothing says how long d is
  EXPECT_EQ(s.draw().complaint, "") << "the sample makes the dim";
}

}  // namespace
