// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/refused_submodels.hpp>

#include <gtest/gtest.h>

#include <string>

#include <hyperparallel/world/world_lowering.hpp>

#include "models/omni_model.hpp"
#include "support/error_of.hpp"

namespace {

using namespace hyperparallel;
using programs::omni_graph;
using programs::omni_plan;

/// What is said after a change of the plan.
std::string refusal(void (*change)(submodel_plan&)) {
  submodel_plan plan =
      omni_plan({{"a", "tp", 2, {"text"}}, {"b", "single", 1, {"vision"}}, {"c", "dp", 4, {"fusion"}}});
  change(plan);
  return tested::error_of<program_error>([&] { partitioned(omni_graph({.micro_batches = 1}), plan); });
}

TEST(refused_submodels, one_line_names_groups_modules_and_ranks) {
  EXPECT_EQ(refusal([](submodel_plan& p) { p.table.placed[1].group = "d"; }),
            "module vision is on group d, which does not exist: the nearest is a");
  EXPECT_EQ(refusal([](submodel_plan& p) { p.table.placed[2].operators.push("fusion.[a-z]*"); }),
            "operator fusion.joined belongs to none of the 3 modules");
  EXPECT_EQ(refusal([](submodel_plan& p) {
              p.table.group[0].ranks[0] = {1, 1};
              p.table.group[0].ranks.push(0);
            }),
            "group a has rank 0 where 2 follows: write the ranks 1 to 2, or renumber the table");
  EXPECT_EQ(refusal([](submodel_plan& p) { p.table.group[1].ranks[0] = {1, 2}; }),
            "groups a and b share rank 1, but not all ranks: give them the same ranks, or none in common");
  EXPECT_EQ(refusal([](submodel_plan& p) {
              p.table.group[2].ranks[0] = {4, 7};
              p.table.world = 8;
            }),
            "rank 3 before group c is in no group: idle ranks stand behind all groups");
  EXPECT_EQ(
      refusal([](submodel_plan& p) {
        p.table.placed[1].operators.push("vision.l*");
        p.table.placed[2].operators.push("vision.patch");
        p.table.placed[2].operators.push("fusion.*");
      }),
      "operator \"fusion.joined\" of module fusion reads what module vision makes, which waits for module fusion: make "
      "two modules of one of them");
  EXPECT_EQ(refusal([](submodel_plan& p) { p.strategy.resize(1); }),
            "strategies are given for 1 group of ranks, the table has 3");
  EXPECT_EQ(refusal([](submodel_plan& p) { p.strategy[1] = p.strategy[0]; }),
            "the strategy of group b has 2 ranks, the group has 1");
  EXPECT_EQ(refusal([](submodel_plan& p) {
              p.table.group[1].ranks = p.table.group[0].ranks;
              p.table.group[2].ranks[0] = {2, 5};
              p.strategy[1] = strategy_called("dp", 2).strategy;
            }),
            "groups a and b have the same ranks and other strategies: expected one");
  EXPECT_EQ(
      refusal([](submodel_plan& p) { p.table.placed[0].frozen = true; }),
      "parameter \"text.embedding.weight\" of module text, which is frozen, has a gradient: call freeze_modules before "
      "differentiate");
  EXPECT_EQ(refusal([](submodel_plan& p) { p.strategy[0] = strategy_called("ring", 2).strategy; }),
            "attention that travels a ring cannot be cut into modules on groups");
  EXPECT_EQ(refusal([](submodel_plan& p) {
              p.strategy[2] = strategy_called("dq", 4).strategy;
            }).rfind("group c: no strategy is called \"dq\", the nearest is \"dp\"", 0),
            0u);
}

TEST(refused_submodels, graphs_and_parameters_are_named) {
  const group_table t =
      omni_plan({{"a", "tp", 2, {"!text"}}, {"b", "single", 1, {"vision"}}, {"c", "dp", 4, {"fusion"}}}).table;
  model_builder m({.activation = f64, .parameter = f64});
  programs::build_omni(m, {.tower_layers = 2, .shared = programs::shared_parameter::matrix});
  EXPECT_EQ(text_of_refusal(m.graph, t, freeze_modules(m.graph, t)),
            "parameter \"shared.weight\" is read by module text, which is frozen, and by module vision, which is not");
  EXPECT_EQ(text_of_refusal(m.graph, t, cut_by_modules(m.graph, t).status),
            "segment \"layers\" is folded: only graphs that are built unrolled can be cut");
  EXPECT_EQ(text_of_refusal(m.graph, t, {}), "ok");
  EXPECT_EQ(text_of_refusal(m.graph, t, {.code = submodel_code::modules_are_too_many, .given = 9, .expected = 8}),
            "groups of 9 modules cannot be searched: at most 8");
  m.graph.status = {graph_code::model_has_no_loss};
  EXPECT_EQ(text_of_refusal(m.graph, t, cut_by_modules(m.graph, t).status).rfind("the graph is refused: ", 0), 0u);
}

}  // namespace
