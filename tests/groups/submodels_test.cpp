// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/submodels.hpp>

#include <gtest/gtest.h>

#include <string>

#include "models/omni_model.hpp"

namespace {

namespace hp = hyperparallel;
using code = hp::submodel_code;
using programs::omni_graph;
using programs::omni_plan;

constexpr hp::group_table three_groups() {
  return omni_plan({{"a", "single", 2, {"text"}}, {"b", "single", 1, {"vision"}}, {"c", "single", 4, {"fusion"}}})
      .table;
}

/// The status after a change of the table.
constexpr hp::submodel_status why(void (*change)(hp::group_table&)) {
  hp::group_table t = three_groups();
  change(t);
  return hp::cut_by_modules(omni_graph({.micro_batches = 1}), t).status;
}

static_assert([] {
  const hp::graph g = omni_graph({.micro_batches = 2});
  const hp::submodel_cut c = hp::cut_by_modules(g, three_groups());
  bool laws = c.status.ok() && c.parts == 3 && c.cut.of_op.size == g.op.size;
  for (int o = 0; o < g.op.size && laws; ++o)
    laws = c.cut.of_op[o] >= 0 && (g.op[o].forward < 0 || c.cut.of_op[o] == c.cut.of_op[g.op[o].forward]);
  return laws;
}());
static_assert(why([](hp::group_table& t) { t.group[0].ranks[0] = {1, 2}; }).code == code::rank_is_left_out);

TEST(submodels, each_operator_is_of_its_module_and_updates_of_their_parameter) {
  const hp::graph g = omni_graph({.micro_batches = 2});
  const hp::group_table t = three_groups();
  const hp::module_claims claims = hp::claim_operators(g, t);
  const hp::submodel_cut c = hp::cut_by_modules(g, t);
  ASSERT_TRUE(c.status.ok());
  for (int o = 0; o < g.op.size; ++o) {
    const hp::graph_operator& op = g.op[o];
    if (claims.module_of_op[o] >= 0) {
      EXPECT_EQ(c.module_of_stage[c.cut.of_op[o]], claims.module_of_op[o]);
    }
    for (int i = 0; i < op.operand_count && op.phase == hp::graph_phase::forward; ++i)
      EXPECT_LE(c.cut.of_tensor[op.operand[i]], c.cut.of_op[o]);
    for (int r = 0; r < op.result_count; ++r)
      if (const int home = g.tensor[op.result[r]].replaces; home >= 0) {
        EXPECT_EQ(c.cut.of_tensor[home], c.cut.of_op[o]) << g.name_of_op(o);
      }
  }
}

/// Stages follow what modules read, parts follow ranks, whatever the order of the table.
TEST(submodels, stages_follow_reads_and_parts_follow_ranks) {
  hp::group_table t;
  t.world = 9;
  hp::add_group(t, "c", hp::rank_range{4, 7});
  hp::add_group(t, "b", hp::rank_range{0, 1}, 2, 3);
  hp::add_module(t, "fusion", "c");
  hp::add_module(t, "vision", "b");
  hp::add_module(t, "text", "b");
  const hp::submodel_cut c = hp::cut_by_modules(omni_graph({.micro_batches = 1}), t);
  ASSERT_TRUE(c.status.ok()) << name_of(c.status.code);
  const auto is = [](const hp::growing_array<int>& a, std::initializer_list<int> expected) {
    return std::equal(a.begin(), a.end(), expected.begin(), expected.end());
  };
  EXPECT_TRUE(is(c.module_of_stage, {1, 2, 0}));
  EXPECT_TRUE(is(c.part_of_stage, {0, 0, 1}));
  EXPECT_TRUE(is(c.part_of_group, {1, 0}));
  EXPECT_EQ(c.parts, 2);
}

TEST(submodels, groups_of_equal_ranks_are_one_part) {
  hp::group_table t = three_groups();
  t.group[1].ranks.clear();
  t.group[1].ranks.push(0);
  t.group[1].ranks.push(1);
  t.group[2].ranks[0] = {2, 5};
  const hp::submodel_cut c = hp::cut_by_modules(omni_graph({.micro_batches = 1}), t);
  ASSERT_TRUE(c.status.ok()) << name_of(c.status.code);
  EXPECT_EQ(c.parts, 2);
  EXPECT_EQ(c.part_of_group[0], c.part_of_group[1]);
}

TEST(submodels, what_cannot_be_is_named) {
  EXPECT_EQ(why([](hp::group_table&) {}), hp::submodel_status{});
  EXPECT_EQ(why([](hp::group_table& t) { t.placed[1].group = "d"; }).groups.code,
            hp::group_code::module_names_no_group);
  EXPECT_EQ(why([](hp::group_table& t) {
              t.group[0].ranks.push(3);
              t.group[1].ranks[0] = {2, 2};
            }),
            (hp::submodel_status{.code = code::ranks_are_no_run, .group = 0, .rank = 3, .expected = 2}));
  EXPECT_EQ(why([](hp::group_table& t) {
              t.group[0].ranks[0] = {1, 1};
              t.group[0].ranks.push(0);
            }),
            (hp::submodel_status{.code = code::ranks_are_no_run, .group = 0, .rank = 0, .expected = 2}));
  EXPECT_EQ(why([](hp::group_table& t) { t.group[1].ranks[0] = {1, 2}; }),
            (hp::submodel_status{.code = code::groups_overlap, .group = 1, .other = 0, .rank = 1}));
  EXPECT_EQ(why([](hp::group_table& t) { t.group[1].ranks[0] = {0, 2}; }).code, code::groups_overlap);
  EXPECT_EQ(why([](hp::group_table& t) { t.group[2].ranks[0] = {4, 6}; }),
            (hp::submodel_status{.code = code::rank_is_left_out, .group = 2, .rank = 3}));
  EXPECT_EQ(why([](hp::group_table& t) { t.group[2].ranks[0] = {3, 5}; }), hp::submodel_status{})
      << "idle ranks behind";
  const hp::graph g = omni_graph({.micro_batches = 1, .tower_layers = 2});
  hp::group_table t = three_groups();  // the fusion makes what the vision begins with
  t.placed[2].operators.push("fusion.*");
  t.placed[2].operators.push("vision.patch");
  t.placed[1].operators.push("vision.l*");
  const hp::submodel_status circle = hp::cut_by_modules(g, t).status;
  EXPECT_EQ(circle.code, code::modules_wait_for_each_other);
  EXPECT_NE(circle.module, circle.other);
  EXPECT_EQ(circle.module + circle.other, 3) << "vision and fusion";
  hp::model_builder folded({.activation = hp::f64, .parameter = hp::f64});
  programs::build_omni(folded, {.tower_layers = 2});
  EXPECT_EQ(hp::cut_by_modules(folded.graph, three_groups()).status.cut.code, hp::stage_cut_code::segment_is_folded);
}

}  // namespace
