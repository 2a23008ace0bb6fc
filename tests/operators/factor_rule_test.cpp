// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/factor_rule.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;
using code = hp::rule_code;

constexpr hp::rule_status status(const char* text, const hp::rule_traits& traits = {}) {
  return hp::rule_from("rule", text, traits).status;
}

constexpr hp::factor_rule product = hp::rule_from("product", "egch,eghf->egcf", hp::contraction).rule;
static_assert(product.operand_count == 2 && product.factor_count == 5);
static_assert(product.operand[0] == hp::dim_factors{4, 0b01111, {0, 1, 2, 3}});
static_assert(product.operand[1] == hp::dim_factors{4, 0b11011, {0, 1, 3, 4}});
static_assert(product.result == hp::dim_factors{4, 0b10111, {0, 1, 2, 4}});
static_assert(product.factor[3] == hp::factor{'h', hp::factor_kind::reduction, hp::reduce_op::sum, 0});
static_assert(product.factor[4] == hp::factor{'f', hp::factor_kind::pass_through, hp::reduce_op::none, 0});

// Capitals and digits are whole on every device, in the result or not; a digit is its extent.
constexpr hp::factor_rule softmax = hp::rule_from("softmax", "tE->tE", {}).rule;
constexpr hp::factor_rule packed = hp::rule_from("packed", "t2f->tf", {}).rule;
static_assert(softmax.factor[1] == hp::factor{'E', hp::factor_kind::need_replication, hp::reduce_op::none, 0});
static_assert(packed.factor[1] == hp::factor{'2', hp::factor_kind::need_replication, hp::reduce_op::none, 2});

static_assert(hp::rule_from("maximum", "tk->t", {hp::reduce_op::max, 0, false, 1}).rule.factor[1].op ==
              hp::reduce_op::max);
static_assert(status("->").code == code::ok);  // one scalar operand

static_assert(status("mk,kn") == hp::rule_status{code::text_is_malformed, 5});
static_assert(status("m-k->mk") == hp::rule_status{code::text_is_malformed, 1});
static_assert(status("mk->m,k") == hp::rule_status{code::text_is_malformed, 5});
static_assert(status("m0->m") == hp::rule_status{code::text_is_malformed, 1});
static_assert(status("a,b,c,d,e->abcde") == hp::rule_status{code::too_many_operands, 7});
static_assert(status("abcdefghi->a") == hp::rule_status{code::too_many_dims, 8});
static_assert(status("abcdefgh,ijklm->a") == hp::rule_status{code::too_many_factors, 13});
static_assert(status("ii->i") == hp::rule_status{code::factor_is_used_twice_in_one_tensor, 0});
static_assert(status("ij->jj") == hp::rule_status{code::factor_is_used_twice_in_one_tensor, 1});
static_assert(status("i->ij") == hp::rule_status{code::result_factor_is_in_no_operand, 1});
static_assert(status("ij->i", {hp::reduce_op::none, 0, false, 1}) ==
              hp::rule_status{code::kind_does_not_fit_the_result, 1});
static_assert(status("ij->i", {hp::reduce_op::max, 1, false, 1}) ==
              hp::rule_status{code::linear_rule_reduces_by_another_operation, 1});

TEST(FactorRule, RefusedTextGivesNoRule) {
  const hp::rule_result r = hp::rule_from("rule", "ii->i", {});
  EXPECT_EQ(r.rule, hp::factor_rule{});
  EXPECT_EQ(hp::check_rule(r.rule).code, code::too_many_operands);
}

TEST(FactorRule, WrittenByHandIsCheckedAlike) {
  hp::factor_rule r = product;
  EXPECT_EQ(hp::check_rule(r).code, code::ok);
  r.factor[0] = {'e', hp::factor_kind::reduction, hp::reduce_op::sum, 0};
  EXPECT_EQ(hp::check_rule(r), (hp::rule_status{code::kind_does_not_fit_the_result, 0}));
  r = product;
  r.operand[1].mask = 0b11010;
  EXPECT_EQ(hp::check_rule(r), (hp::rule_status{code::mask_differs_from_dims, 0}));
  r = hp::rule_from("rule", "ij->", {hp::reduce_op::sum, 0, false, 1}).rule;
  r.factor[1].op = hp::reduce_op::max;
  EXPECT_EQ(hp::check_rule(r), (hp::rule_status{code::reductions_differ, 1}));
}

TEST(FactorRule, RunTimeEqualsCompileTime) {
  EXPECT_EQ(hp::rule_from("product", "egch,eghf->egcf", hp::contraction).rule, product);
}

}  // namespace
