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
  EXPECT_STREQ(hp::detail::gradients_made_by(attention), "012");
  EXPECT_TRUE(hp::detail::reads_gradient(attention, 0));
  EXPECT_FALSE(hp::detail::reads_gradient(attention, 1));
}

TEST(GradientWriter, ATextNamesWhatTheOperatorHas) {
  EXPECT_TRUE(hp::detail::reads_as_gradient("g0,x0,y1>01", 2, 2));
  for (const char* const wrong :
       {"", "g0", "g0>", "g0,>0", ">0", "g2,x0>0", "g0,x2>0", "g0,y2>0", "g0,z0>0", "g0>2", "g0,x0>0,1", "g0,x0>00",
        "g0>010", "g0x0>0", "g0,g0,g0,g0,g0,g0,g0,g0,g0>0", "g0>000000"})
    EXPECT_FALSE(hp::detail::reads_as_gradient(wrong, 2, 2)) << wrong;
}

// What is wrong with a text, and at which character.
using code = hp::gradient_text_code;
constexpr hp::detail::gradient_text_status status(const char* text) {
  return hp::detail::check_gradient_text(text, 2, 1);
}
static_assert(status("g0,x1,y0>10") == hp::detail::gradient_text_status{});
static_assert(status("") == hp::detail::gradient_text_status{code::tensor_is_malformed, 0});
static_assert(status("g0,,x0>0") == hp::detail::gradient_text_status{code::tensor_is_malformed, 3});
static_assert(status("g0,x2>0") == hp::detail::gradient_text_status{code::operand_does_not_exist, 4});
static_assert(status("g1>0") == hp::detail::gradient_text_status{code::result_does_not_exist, 1});
static_assert(status("g0,y") == hp::detail::gradient_text_status{code::result_does_not_exist, 4});
static_assert(status("g0,g0,g0,g0,g0,g0,g0,g0,g0>0") == hp::detail::gradient_text_status{code::too_many_tensors, 24});
static_assert(status("g0,x0") == hp::detail::gradient_text_status{code::arrow_is_missing, 5});
static_assert(status("g0->0") == hp::detail::gradient_text_status{code::arrow_is_missing, 2});
static_assert(status("x0,y0>0") == hp::detail::gradient_text_status{code::no_gradient_is_read, 5});
static_assert(status("g0>") == hp::detail::gradient_text_status{code::no_gradient_is_made, 3});
static_assert(status("g0>0,1") == hp::detail::gradient_text_status{code::operand_does_not_exist, 4});
static_assert(status("g0>010") == hp::detail::gradient_text_status{code::gradient_is_made_twice, 5});
// Numbers of rows go where the backward operator takes them, and have no gradient.
constexpr bool fit(unsigned taken, const char* text) {
  hp::operator_value forward, backward;
  forward.indices = 0b10;
  forward.index_results = 0b100;
  backward.indices = taken;
  return hp::detail::numbers_fit(forward, backward, text);
}
static_assert(fit(0b010, "g0,x1,x0>0"));
static_assert(fit(0b100, "g0,y1,y2>0"));
static_assert(!fit(0b000, "g0,x1>0"));
static_assert(!fit(0b000, "g0,y2>0"));
static_assert(!fit(0b010, "g0,x0>0"));
static_assert(!fit(0b000, "g0,x0>01"));
static_assert(hp::detail::check_gradient_text("g0>012345", 8, 1) ==
              hp::detail::gradient_text_status{code::too_many_tensors, 8});

}  // namespace
