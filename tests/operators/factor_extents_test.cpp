// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/factor_extents.hpp>
#include <hyperparallel/operators/rule_text.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace {

namespace hp = hyperparallel;
using code = hp::extents_code;

constexpr hp::factor_rule product = hp::rule_from("product", "mk,kn->mn", hp::contraction).rule;
constexpr hp::factor_rule packed =
    hp::rule_from("packed", "t2f->tf", {hp::reduce_op::none, hp::refuse_partials(), 2}).rule;

TEST(FactorExtents, AFactorHasOneExtent) {
  for (int m = 0; m < 4; ++m)
    for (int k = 0; k < 4; ++k)
      for (int l = 0; l < 4; ++l)
        for (int n = 0; n < 4; ++n) {
          const hp::shape s[] = {hp::shape{m, k}, hp::shape{l, n}};
          const hp::result_shape_result r = hp::result_shape(product, s, 2);
          const hp::work_result w = hp::work_of(product, s, 2);
          EXPECT_EQ(r.status, w.status);
          if (k == l) {
            ASSERT_EQ(r.status.code, code::ok);
            EXPECT_EQ(r.shape, (hp::shape{m, n}));
            EXPECT_EQ(w.flops, 2 * m * n * k);
          } else {
            EXPECT_EQ(r.status, (hp::extents_status{code::factor_extents_differ, 1, 0, l, k}));
          }
        }
}

TEST(FactorExtents, NamesWhatIsWrong) {
  const hp::shape three[] = {hp::shape{4, 3, 5}};
  EXPECT_EQ(hp::extents_of(packed, three, 1).status, (hp::extents_status{code::factor_extent_is_fixed, 0, 1, 3, 2}));
  const hp::shape flat[] = {hp::shape{4, 10}};
  EXPECT_EQ(hp::extents_of(packed, flat, 1).status,
            (hp::extents_status{code::operand_rank_differs_from_rule, 0, 0, 2, 3}));
  EXPECT_EQ(hp::extents_of(product, flat, 1).status,
            (hp::extents_status{code::operand_count_differs_from_rule, 0, 0, 1, 2}));
}

// The last operand tells c, that the middle one b, and that the first one a.
TEST(FactorExtents, LaterOperandsTellDimsOfSeveralFactors) {
  const hp::rule_traits none{hp::reduce_op::none, hp::refuse_partials()};
  const hp::factor_rule chain = hp::rule_from("chain", "(ab),(bc),c->abc", none).rule;
  for (int a = 1; a < 4; ++a)
    for (int b = 1; b < 4; ++b)
      for (int c = 1; c < 4; ++c) {
        const hp::shape s[] = {hp::shape(a * b), hp::shape(b * c), hp::shape(c)};
        const hp::result_shape_result r = hp::result_shape(chain, s, 3);
        ASSERT_EQ(r.status.code, code::ok);
        EXPECT_EQ(r.shape, (hp::shape{a, b, c}));
      }
  const hp::shape odd[] = {hp::shape(4), hp::shape(3), hp::shape(2)};
  EXPECT_EQ(hp::extents_of(chain, odd, 3).status, (hp::extents_status{code::factor_extents_differ, 1, 0, 3, 2}));
  const hp::factor_rule open = hp::rule_from("open", "(ab),(bc)->abc", none).rule;
  const hp::shape s[] = {hp::shape(4), hp::shape(6)};
  EXPECT_EQ(hp::extents_of(open, s, 2).status, (hp::extents_status{code::dim_has_two_unknown_factors, 0, 0, 4, 0}));
}

TEST(FactorExtents, DimsWithoutElements) {
  const hp::factor_rule split = hp::rule_from("split", "(2f)->2f", {hp::reduce_op::none, hp::refuse_partials()}).rule;
  const hp::shape none[] = {hp::shape(0)};
  EXPECT_EQ(hp::result_shape(split, none, 1).shape, (hp::shape{2, 0}));
  // A factor of extent 0 says nothing about the other of its dim; an operand that has it alone does.
  const hp::factor_rule told = hp::rule_from("told", "a,(ab),b->ab", {hp::reduce_op::none, hp::refuse_partials()}).rule;
  const hp::shape s[] = {hp::shape(0), hp::shape(0), hp::shape(5)};
  EXPECT_EQ(hp::result_shape(told, s, 3).shape, (hp::shape{0, 5}));
  const hp::shape wrong[] = {hp::shape(0), hp::shape(3), hp::shape(5)};
  EXPECT_EQ(hp::extents_of(told, wrong, 3).status.code, code::factor_extents_differ);
}

TEST(FactorExtents, DimsThatTheRuleFixes) {
  hp::factor_rule pad = hp::rule_from("pad", "ab->ab", {hp::reduce_op::none, hp::refuse_partials()}).rule;
  pad.factor[0].kind = hp::factor_kind::permutation;
  pad.operand[0].extent[0] = 5;
  pad.result[0].extent[0] = 9;
  const hp::shape five[] = {hp::shape{5, 3}}, six[] = {hp::shape{6, 3}};
  EXPECT_EQ(hp::result_shape(pad, five, 1).shape, (hp::shape{9, 3}));
  EXPECT_EQ(hp::result_shape(pad, six, 1).status, (hp::extents_status{code::dim_extent_is_fixed, 0, 0, 6, 5}));
  const hp::factor_rule created = hp::rule_from("created", "a->ab", {}).rule;
  const hp::shape four[] = {hp::shape(4)};
  EXPECT_EQ(hp::result_shape(created, four, 1).status,
            (hp::extents_status{code::factor_extent_is_not_known, 1, 1, 0, 0}));
}

TEST(FactorExtents, EveryResultHasItsShape) {
  const hp::factor_rule split = hp::rule_from("split", "abC->Cba,a", {hp::reduce_op::none}).rule;
  const hp::shape s[] = {hp::shape{2, 3, 5}};
  EXPECT_EQ(hp::result_shape(split, s, 1, 0).shape, (hp::shape{5, 3, 2}));
  EXPECT_EQ(hp::result_shape(split, s, 1, 1).shape, hp::shape(2));
}

TEST(FactorExtents, WorkSaysOverflow) {
  const std::int64_t big = std::int64_t{1} << 21;
  const hp::shape over[] = {hp::shape{big, big}, hp::shape{big, big}};  // 2 · 2^63
  EXPECT_EQ(hp::work_of(product, over, 2).status.code, code::work_overflows);
  const hp::shape empty[] = {hp::shape{big, big}, hp::shape{big, 0}};
  EXPECT_EQ(hp::work_of(product, empty, 2).status.code, code::ok);
  EXPECT_EQ(hp::work_of(product, empty, 2).flops, 0);
  const hp::shape fits[] = {hp::shape{big, big / 4}, hp::shape{big / 4, big / 2}};
  EXPECT_EQ(hp::work_of(product, fits, 2).flops, std::int64_t{1} << 61);
}

constexpr hp::shape pair[] = {hp::shape{2, 3}, hp::shape{3, 5}};
static_assert(hp::work_of(product, pair, 2).flops == 60);
static_assert(hp::result_shape(product, pair, 2).shape == hp::shape{2, 5});

}  // namespace
