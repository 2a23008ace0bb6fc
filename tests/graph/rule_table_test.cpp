// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/graph/operator_loops.hpp>
#include <hyperparallel/graph/rule_table.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;
using hp::id_of;
using hp::operator_id;
namespace ops = hp::ops;

hp::graph_operator operator_of(operator_id kind, hp::reduce_op reduction = hp::reduce_op::sum) {
  hp::graph_operator o;
  o.kind = kind;
  o.reduction = reduction;
  return o;
}

TEST(rule_table, a_rule_is_read_once_for_an_operator_its_ranks_and_attributes) {
  hp::graph g;
  const auto find = [&](const hp::graph_operator& o, const char* text, const hp::operand_ranks& ranks) {
    return hp::detail::find_rule(g, o, text, ranks).rule;
  };
  const int sum = find(operator_of(id_of<ops::sum>), "*->*", {2, {3, 3}});
  EXPECT_EQ(find(operator_of(id_of<ops::sum>), "*->*", {2, {3, 3}}), sum);
  EXPECT_NE(find(operator_of(id_of<ops::sum>), "*->*", {2, {2, 2}}), sum) << "other ranks";
  EXPECT_NE(find(operator_of(id_of<ops::sum>), "*->*", {3, {3, 3, 3}}), sum) << "another operand";
  EXPECT_NE(find(operator_of(id_of<ops::scale>), "*->*", {2, {3, 3}}), sum) << "another operator";
  const int reduce = find(operator_of(id_of<ops::reduce>), "ab->a", {1, {2}});
  EXPECT_NE(find(operator_of(id_of<ops::reduce>), "ab->b", {1, {2}}), reduce) << "another text";
  EXPECT_NE(find(operator_of(id_of<ops::reduce>, hp::reduce_op::max), "ab->a", {1, {2}}), reduce);
  EXPECT_EQ(g.rule.size, 7);
  EXPECT_EQ(g.rule[reduce].rule.factor[1].op, hp::reduce_op::sum);
  EXPECT_EQ(g.rule.last().rule.factor[1].op, hp::reduce_op::max);
  EXPECT_EQ(find(operator_of(id_of<ops::reduce>), "ab", {1, {2}}), -1) << "no rule is kept of what is none";
  EXPECT_EQ(g.rule.size, 7);
}

// Every row that has a text is a rule of the ranks that its letters say; `*` stands for two dims.
TEST(rule_table, every_row_is_a_rule) {
  for (int k = 0; k < hp::builtin_operator_count; ++k) {
    const hp::operator_value& row = hp::builtin_list[static_cast<operator_id>(k)];
    if (row.text[0] == '\0') continue;
    hp::operand_ranks ranks{1};
    for (const char* at = row.text; *at != '-'; ++at) {
      if (*at == ',')
        ++ranks.count;
      else
        ranks.rank[ranks.count - 1] += *at == '*' ? 2 : 1;
    }
    hp::graph g;
    const hp::detail::rule_place found =
        hp::detail::find_rule(g, operator_of(static_cast<operator_id>(k)), row.text, ranks);
    ASSERT_EQ(found.status, hp::rule_status{}) << row.name;
    const hp::factor_rule& rule = g.rule[found.rule].rule;
    EXPECT_STREQ(rule.name.text, hp::short_text(row.name).text);
    EXPECT_EQ(rule.flops_per_point, row.flops_per_point);
    EXPECT_TRUE(rule.partials.stated);
    EXPECT_EQ(rule.partials, row.partials);
  }
}

}  // namespace
