// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/rules/creation.hpp>

#include <hyperparallel/operators/factor_extents.hpp>

#include "laws.hpp"

namespace {

namespace hp = hyperparallel;
namespace rules = hp::rules;
using hp::rule_code;
using hp::shape;

TEST(Creation, ANewTensorHasTheExtentsAskedFor) {
  const hp::rule_result r = rules::creation("ones", shape{5, 2, 2});
  EXPECT_TRUE(laws::same(r, rule_code::ok));
  EXPECT_EQ(r.rule.operand_count, 0);
  EXPECT_EQ(hp::result_shape(r.rule, nullptr, 0).shape, (shape{5, 2, 2}));
  EXPECT_TRUE(laws::same(rules::creation("ones", shape{5, 0}), rule_code::attribute_is_invalid));
  EXPECT_TRUE(laws::same(rules::creation("one", shape()), rule_code::ok));
}

TEST(Creation, DrawsReadWholeRows) {
  const shape s{4, 8};
  EXPECT_EQ(hp::result_shape(rules::multinomial(2, 10).rule, &s, 1).shape, (shape{4, 10}));
  EXPECT_EQ(rules::multinomial(1, 10).rule.factor[0].kind, hp::factor_kind::need_replication);
  EXPECT_EQ(rules::multinomial(2, 10).rule.factor[0].kind, hp::factor_kind::pass_through);
  EXPECT_TRUE(laws::same(rules::multinomial(3, 10), rule_code::too_many_dims));
  EXPECT_TRUE(laws::same(rules::multinomial(0, 10), rule_code::too_many_dims));
  EXPECT_TRUE(laws::same(rules::multinomial(2, 0), rule_code::attribute_is_invalid));
}

static_assert(rules::creation("ones", shape{2}).rule.result[0].rank == 1);

}  // namespace
