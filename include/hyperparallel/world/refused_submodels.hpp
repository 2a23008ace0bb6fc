// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a model cannot be run as sub-models on groups of ranks, as one line with names and sizes.

#include <string>

#include <hyperparallel/groups/refused_groups.hpp>
#include <hyperparallel/lowering/submodel_program.hpp>
#include <hyperparallel/world/refused_pipeline.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What a status says of a model and a table: of cut_by_modules, freeze_modules or the plan's strategies.
inline std::string text_of_refusal(const graph& g, const group_table& t, const submodel_status& s) {
  const auto group = [&](int n) { return std::string("group ") + t.group[n].name.text; };
  const auto module = [&](int n) { return std::string("module ") + t.placed[n].name.text; };
  const std::string rank = std::to_string(s.rank), given = std::to_string(s.given),
                    expected = std::to_string(s.expected);
  switch (s.code) {
    case submodel_code::ok:
      break;
    case submodel_code::groups_are_refused:
      return s.groups.code == group_code::graph_is_refused
                 ? text_of_refusal(g, stage_cut_status{stage_cut_code::graph_is_refused})
                 : text_of_refusal(s.groups, t, g);
    case submodel_code::graph_cannot_be_cut:
      return text_of_refusal(g, s.cut);
    case submodel_code::ranks_are_no_run: {
      const process_group& one = t.group[s.group];
      const int first = rank_at(one, 0);
      return group(s.group) + " has rank " + rank + " where " + expected + " follows: write the ranks " +
             std::to_string(first) + " to " + std::to_string(first + static_cast<int>(rank_count(one)) - 1) +
             ", or renumber the table";
    }
    case submodel_code::groups_overlap:
      return "groups " + std::string(t.group[s.other].name.text) + " and " + t.group[s.group].name.text +
             " share rank " + rank + ", but not all ranks: give them the same ranks, or none in common";
    case submodel_code::rank_is_left_out:
      return "rank " + rank + " before " + group(s.group) + " is in no group: idle ranks stand behind all groups";
    case submodel_code::modules_wait_for_each_other:
      return "operator " + detail::in_quotes(g.name_of_op(s.named)) + " of " + module(s.module) + " reads what " +
             module(s.other) + " makes, which waits for " + module(s.module) + ": make two modules of one of them";
    case submodel_code::strategies_for_other_groups:
      return "strategies are given for " + detail::counted(s.given, "group") + " of ranks, the table has " + expected;
    case submodel_code::strategy_has_other_ranks:
      return "the strategy of " + group(s.group) + " has " + detail::counted(s.given, "rank") + ", the group has " +
             expected;
    case submodel_code::strategies_differ_on_ranks:
      return "groups " + std::string(t.group[s.other].name.text) + " and " + t.group[s.group].name.text +
             " have the same ranks and other strategies: expected one";
    case submodel_code::parameter_is_half_frozen:
      return "parameter " + detail::in_quotes(g.name_of_tensor(s.named)) + " is read by " + module(s.module) +
             ", which is frozen, and by " + module(s.other) + ", which is not";
    case submodel_code::frozen_parameter_has_gradient:
      return "parameter " + detail::in_quotes(g.name_of_tensor(s.named)) + " of " + module(s.module) +
             ", which is frozen, has a gradient: call freeze_modules before differentiate";
    case submodel_code::modules_are_too_many:
      return "groups of " + detail::counted(s.given, "module") + " cannot be searched: at most " + expected;
  }
  return name_of(s.code);
}

/// The first thing that is wrong. Domain: `p` is not ok.
inline std::string text_of_refusal(const graph& g, const submodel_plan& plan, const submodel_program& p) {
  if (!p.groups.ok()) return text_of_refusal(g, plan.table, p.groups);
  if (!p.rows.ok()) return text_of_refusal(p.rows);
  const strategy_status& why = p.program.status;
  if (why.code == strategy_code::stages_are_refused)
    return "attention that travels a ring cannot be cut into modules on groups";
  const int group = p.group_of_part[why.part];
  return std::string("group ") + plan.table.group[group].name.text + ": " +
         text_of_refusal(p.program, plan.strategy[group]);
}

}}  // namespace hyperparallel::v0_2
