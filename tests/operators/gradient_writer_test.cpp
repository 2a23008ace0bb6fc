// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/gradient_writer.hpp>

#include <hyperparallel/operators/operator_list.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

constexpr hp::gradient_writer gradient_of(hp::operator_id op) {
  hp::gradient_writer w(hp::builtin_list);
  hp::builtin_list[op].gradient(w);
  return w;
}

TEST(GradientWriter, KeepsTheBackwardOperatorsInOrder) {
  static_assert(gradient_of(hp::id_of<hp::ops::multiply>).count == 2);
  const hp::gradient_writer combine = gradient_of(hp::id_of<hp::ops::combine>);
  ASSERT_EQ(combine.count, 2);
  EXPECT_EQ(combine.rule[0].backward, hp::id_of<hp::ops::dispatch_weighted>);
  EXPECT_EQ(combine.rule[1].backward, hp::id_of<hp::ops::combine_weight_gradient>);
  EXPECT_STREQ(combine.rule[1].text, "g0,x0,x1>2");
  EXPECT_TRUE(gradient_of(hp::id_of<hp::ops::rope>).rule[0].reverses);
  EXPECT_FALSE(combine.rule[0].reverses);
}

TEST(GradientWriter, CountsMoreThanItKeeps) {
  hp::gradient_writer w(hp::builtin_list);
  for (int i = 0; i < 2 * hp::max_gradient_rules; ++i) w.backward(hp::id_of<hp::ops::scale>, "g0>0");
  EXPECT_EQ(w.count, 2 * hp::max_gradient_rules);
}

TEST(GradientWriter, ReadsWhatARuleMakesAndReads) {
  const hp::gradient_rule attention = gradient_of(hp::id_of<hp::ops::attention>).rule[0];
  EXPECT_STREQ(hp::gradients_made_by(attention), "012");
  EXPECT_TRUE(hp::reads_gradient(attention, 0));
  EXPECT_FALSE(hp::reads_gradient(attention, 1));
}

TEST(GradientWriter, ATextNamesWhatTheOperatorHas) {
  EXPECT_TRUE(hp::reads_as_gradient("g0,x0,y1>01", 2, 2));
  for (const char* const wrong :
       {"", "g0", "g0>", "g0,>0", ">0", "g2,x0>0", "g0,x2>0", "g0,y2>0", "g0,z0>0", "g0>2", "g0,x0>0,1", "g0,x0>00",
        "g0>010", "g0x0>0", "g0,g0,g0,g0,g0,g0,g0,g0,g0>0", "g0>000000"})
    EXPECT_FALSE(hp::reads_as_gradient(wrong, 2, 2)) << wrong;
}

}  // namespace
