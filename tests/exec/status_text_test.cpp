// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/status_text.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

TEST(status_text, names_are_those_of_the_error_lines) {
  EXPECT_STREQ(hp::name_of(hp::layout_code::extent_is_not_divisible_by_its_shards),
               "extent_is_not_divisible_by_its_shards");
  EXPECT_STREQ(hp::name_of(hp::layout_code::element_count_overflows), "element_count_overflows");
  EXPECT_STREQ(hp::name_of(hp::propagation_code::operands_disagree), "operands_disagree");
  EXPECT_STREQ(hp::name_of(hp::propagation_code::result_has_too_many_cuts), "result_has_too_many_cuts");
  EXPECT_STREQ(hp::name_of(hp::extents_code::factor_extents_differ), "factor_extents_differ");
  EXPECT_STREQ(hp::name_of(hp::extents_code::work_overflows), "work_overflows");
  EXPECT_STREQ(hp::name_of(hp::rule_code::term_is_no_factor), "term_is_no_factor");
  EXPECT_STREQ(hp::name_of(hp::rule_code::attribute_is_invalid), "attribute_is_invalid");
}

TEST(status_text, errors_carry_their_status) {
  const hp::layout_error l({hp::layout_code::extent_is_not_divisible_by_its_shards, 1, 0, 0, 10, 4});
  EXPECT_STREQ(l.what(), "extent_is_not_divisible_by_its_shards: dim 1, extent 10, shards 4");
  EXPECT_EQ(l.status.extent, 10);
  const hp::operator_error p("matmul", hp::propagation_status{hp::propagation_code::operands_disagree, 1, 0, 2});
  EXPECT_STREQ(p.what(), "matmul: operands_disagree: operand 1, dim 0, axis 2");
  EXPECT_EQ(p.layouts.axis, 2);
  EXPECT_EQ(p.shapes.code, hp::extents_code::ok);
  const hp::operator_error e("matmul", hp::extents_status{hp::extents_code::factor_extents_differ, 1, 0, 7, 8});
  EXPECT_STREQ(e.what(), "matmul: factor_extents_differ: operand 1, dim 0, extent 7, expected 8");
  EXPECT_EQ(e.shapes.expected, 8);
  const hp::operator_error r("softmax", hp::rule_status{hp::rule_code::axis_is_out_of_range, 3});
  EXPECT_STREQ(r.what(), "softmax: attributes_do_not_fit_operands: axis_is_out_of_range, 3");
  EXPECT_EQ(r.rule.where, 3);
}

}  // namespace
