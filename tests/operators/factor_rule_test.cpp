// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/factor_rule.hpp>

#include <gtest/gtest.h>

#include <utility>

namespace {

namespace hp = hyperparallel;
using code = hp::rule_code;
using hp::factor_kind;
using hp::reduce_op;

/// (ab)c.,c -> a(bc) by parts, with a reduction k of both operands beside them.
constexpr hp::factor_rule by_parts() {
  hp::factor_rule r;
  const int a = hp::add_factor(r), b = hp::add_factor(r, factor_kind::pass_through, 3), c = hp::add_factor(r);
  const int k = hp::add_factor(r, factor_kind::reduction, 0, reduce_op::sum);
  hp::tensor_factors& x = hp::add_operand(r);
  hp::add_dim(x, a);
  hp::extend_dim(x, b);
  hp::add_dim(x, c);
  hp::add_dim(x);
  hp::add_dim(x, k);
  hp::tensor_factors& y = hp::add_operand(r);
  hp::add_dim(y, c);
  hp::add_dim(y, k);
  hp::tensor_factors& z = hp::add_result(r);
  hp::add_dim(z, a);
  hp::add_dim(z, b);
  hp::extend_dim(z, c);
  return r;
}
constexpr hp::factor_rule rule = by_parts();
static_assert(hp::check_rule(rule) == hp::rule_status{});

TEST(FactorRule, PartsCountTermsAndMask) {
  const hp::tensor_factors& x = rule.operand[0];
  EXPECT_EQ(x.rank, 4);
  const int first[] = {0, 2, 3, 3, 4}, term[] = {0, 1, 2, 3};
  for (int d = 0; d <= 4; ++d) EXPECT_EQ(x.first[d], first[d]);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(x.term[i], term[i]);
  EXPECT_EQ(x.mask, 0b1111u);
  EXPECT_FALSE(x.plain);
  EXPECT_TRUE(rule.operand[1].plain);
  EXPECT_FALSE(rule.result[0].plain);
}

TEST(FactorRule, PlainIsOneFactorADim) {
  for (int dims = 0; dims <= 3; ++dims)
    for (int kinds = 0; kinds < 27; ++kinds) {  // per dim: none, one, two factors
      hp::factor_rule r;
      hp::tensor_factors& t = hp::add_operand(r);
      bool plain = true;
      for (int d = 0, left = kinds; d < dims; ++d, left /= 3) {
        if (left % 3 == 0) {
          hp::add_dim(t);
        } else {
          hp::add_dim(t, hp::add_factor(r));
          if (left % 3 == 2) hp::extend_dim(t, hp::add_factor(r));
        }
        plain = plain && left % 3 == 1;
      }
      EXPECT_EQ(t.plain, plain);
    }
}

constexpr hp::rule_status changed(void (*change)(hp::factor_rule&)) {
  hp::factor_rule r = rule;
  change(r);
  return hp::check_rule(r);
}

// Every clause of `check_rule`, each broken alone.
static_assert(changed([](hp::factor_rule& r) { r.operand_count = hp::max_operands + 1; }) ==
              hp::rule_status{code::too_many_operands, hp::max_operands + 1});
static_assert(changed([](hp::factor_rule& r) { r.result_count = 0; }) == hp::rule_status{code::too_many_results, 0});
static_assert(changed([](hp::factor_rule& r) { r.factor_count = hp::max_factors + 1; }) ==
              hp::rule_status{code::too_many_factors, hp::max_factors + 1});
static_assert(changed([](hp::factor_rule& r) { r.operand[0].rank = hp::max_dims + 1; }) ==
              hp::rule_status{code::too_many_dims, hp::max_dims + 1});
// A constant evaluation ends where it leaves an array: dims beyond the room, and factors of a scalar, are not written.
static_assert(changed([](hp::factor_rule& r) {
                for (int i = 0; i < 40; ++i) hp::add_dim(r.operand[0], 0);
              }).code == code::too_many_dims);
static_assert(changed([](hp::factor_rule& r) {
                r.operand[0] = {};
                hp::extend_dim(r.operand[0], 0);
              }).code == code::ok);
static_assert(changed([](hp::factor_rule& r) { r.operand[0].first[4] = hp::max_terms + 1; }) ==
              hp::rule_status{code::too_many_terms, hp::max_terms + 1});
static_assert(changed([](hp::factor_rule& r) { r.operand[1].term[1] = 2; }) ==
              hp::rule_status{code::factor_is_used_twice_in_one_tensor, 2});
static_assert(changed([](hp::factor_rule& r) { r.operand[1].mask = 0b1100 | 0b1; }) ==
              hp::rule_status{code::mask_differs_from_dims, 0});
static_assert(changed([](hp::factor_rule& r) {
                r.operand[1].term[1] = 7;
                r.operand[1].mask = 0b0100;
              }) == hp::rule_status{code::term_is_no_factor, 4});
static_assert(changed([](hp::factor_rule& r) { r.operand[1].mask |= 1u << 20; }) ==
              hp::rule_status{code::term_is_no_factor, 4});
static_assert(changed([](hp::factor_rule& r) { hp::add_factor(r); }) ==
              hp::rule_status{code::factor_is_in_no_tensor, 4});
static_assert(changed([](hp::factor_rule& r) {
                r.factor[0].kind = factor_kind::reduction;
                r.factor[0].op = reduce_op::sum;
              }) == hp::rule_status{code::kind_does_not_fit_the_results, 0});
static_assert(changed([](hp::factor_rule& r) { r.factor[0].op = reduce_op::sum; }) ==
              hp::rule_status{code::kind_does_not_fit_the_results, 0});
static_assert(changed([](hp::factor_rule& r) { r.factor[3].op = reduce_op::none; }) ==
              hp::rule_status{code::kind_does_not_fit_the_results, 3});

// What is in operands alone is reduced or whole: a sharding of it would be lost.
static_assert(changed([](hp::factor_rule& r) { r.factor[3] = {}; }) ==
              hp::rule_status{code::kind_does_not_fit_the_results, 3});
static_assert(changed([](hp::factor_rule& r) { r.factor[3] = {0, factor_kind::permutation}; }) ==
              hp::rule_status{code::kind_does_not_fit_the_results, 3});
static_assert(changed([](hp::factor_rule& r) { r.factor[3] = {0, factor_kind::need_replication}; }) ==
              hp::rule_status{});

static_assert(changed([](hp::factor_rule& r) {
                hp::add_dim(r.operand[1], hp::add_factor(r, factor_kind::reduction, 0, reduce_op::max));
              }) == hp::rule_status{code::reductions_do_not_commute, 4});
static_assert(changed([](hp::factor_rule& r) {
                hp::add_dim(r.operand[1], hp::add_factor(r, factor_kind::reduction, 0, reduce_op::avg));
              }) == hp::rule_status{});

static_assert(changed([](hp::factor_rule& r) {
                r.partials = hp::linear_together(0b11u);
                hp::say(r.partials, 1, reduce_op::sum, hp::partial_mode::together, reduce_op::max);
              }) == hp::rule_status{code::words_of_a_group_differ, 1});

// Parts beyond the room are counted and refused, not written.
TEST(FactorRule, OverfullRulesAreRefused) {
  hp::factor_rule r = rule;
  for (int i = 0; i < 40; ++i) hp::add_operand(r);
  EXPECT_EQ(hp::check_rule(r).code, code::too_many_operands);
  r = rule;
  for (int i = 0; i < 40; ++i) hp::add_result(r);
  EXPECT_EQ(hp::check_rule(r).code, code::too_many_results);
  r = rule;
  for (int i = 0; i < 40; ++i) hp::add_factor(r);
  EXPECT_EQ(hp::check_rule(r).code, code::too_many_factors);
  r = rule;
  for (int i = 0; i < 40; ++i) hp::add_dim(r.operand[0]);
  EXPECT_EQ(hp::check_rule(r).code, code::too_many_dims);
  r = rule;
  for (int i = 0; i < 9; ++i) hp::extend_dim(r.operand[0], 3);
  EXPECT_EQ(hp::check_rule(r).code, code::too_many_terms);
}

TEST(FactorRule, CheckedRulesAreThemselvesOrEmpty) {
  const hp::factor_rule once = hp::checked_rule(rule).rule;  // with what it derives beside what it was given
  for (int o = 0; o < rule.operand_count; ++o) EXPECT_EQ(once.operand[o], rule.operand[o]);
  for (int f = 0; f < rule.factor_count; ++f) EXPECT_EQ(once.factor[f], rule.factor[f]);
  EXPECT_EQ(once.result[0], rule.result[0]);
  EXPECT_EQ(hp::checked_rule(once).rule, once);
  hp::factor_rule bad = rule;
  bad.name = hp::short_text("bad");
  bad.result_count = 0;
  const hp::rule_result r = hp::checked_rule(bad);
  EXPECT_EQ(r.status, (hp::rule_status{code::too_many_results, 0}));
  EXPECT_EQ(r.rule, hp::no_rule("bad", code::ok).rule);
}

// What a checked rule adds to itself is read off its tensors again.
TEST(FactorRule, PlacesAreWhereFactorsOccur) {
  hp::factor_rule r;  // mk,kn,nm->mn
  const int m = hp::add_factor(r), k = hp::add_factor(r, factor_kind::reduction, 0, reduce_op::sum);
  const int n = hp::add_factor(r);
  for (const auto& [major, minor] : {std::pair{m, k}, std::pair{k, n}, std::pair{n, m}}) {
    hp::tensor_factors& t = hp::add_operand(r);
    hp::add_dim(t, major);
    hp::add_dim(t, minor);
  }
  hp::tensor_factors& y = hp::add_result(r);
  hp::add_dim(y, m);
  hp::add_dim(y, n);
  const hp::factor_rule plain = hp::checked_rule(r).rule;
  ASSERT_TRUE(plain.plain);
  const auto factor_at = [&](const hp::factor_place& p) { return plain.operand[p.operand].term[p.dim]; };
  for (int d = 0; d < 2; ++d) EXPECT_EQ(factor_at(plain.origin[d]), plain.result[0].term[d]);
  ASSERT_EQ(plain.repeat_count, 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(factor_at(plain.repeat[i].here), factor_at(plain.repeat[i].first));
    EXPECT_LT(plain.repeat[i].first.operand, plain.repeat[i].here.operand);
  }
  r.factor[m].extent = 4;  // an extent to be held against: not by the short way
  EXPECT_FALSE(hp::checked_rule(r).rule.plain);
  EXPECT_FALSE(hp::checked_rule(rule).rule.plain);
}

TEST(FactorRule, RunTimeEqualsCompileTime) { EXPECT_EQ(by_parts(), rule); }

}  // namespace
