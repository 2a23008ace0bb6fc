// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/factor_extents.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace {

namespace hp = hyperparallel;
using code = hp::extents_code;

constexpr hp::factor_rule product = hp::rule_from("product", "mk,kn->mn", hp::contraction).rule;
constexpr hp::factor_rule packed = hp::rule_from("packed", "t2f->tf", {hp::reduce_op::none, 0, false, 2}).rule;

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
