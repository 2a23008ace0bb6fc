// SPDX-License-Identifier: Apache-2.0
#pragma once
// The program of a model whose modules run on groups of ranks of their own: towers side by side, their fusion, frozen parts.
//
//   hp::submodel_plan plan{table};
//   plan.strategy.push(…);                     of each group, in the order of the table: a mesh over its ranks, and rules
//   hp::submodel_program p = hp::partition(graph, plan);
//   p.ok(), hp::lower_training(p.program)
//
// The modules are stages (groups/submodels.hpp), partitioned as those of a pipeline (partition_stages.hpp) and unrolled along
// the rows of submodel_rows.hpp, so one program stands for all parts: hand-overs, memory, proof, clock and run are those of
// any program of several parts. The graph is that of a training step; where modules are frozen it is one that
// `freeze_modules` has had before. Laws: those of submodels.hpp, partition.hpp and unrolled_rows.hpp; with all modules on one
// group, losses and parameters have the bits of its strategy without a table, where modules share no parameter. Errors: the
// first of `groups`, the program's status and `rows` that is not ok. Complexity: that of `partition` and `unroll`.

#include <hyperparallel/groups/frozen_modules.hpp>
#include <hyperparallel/groups/stage_order.hpp>
#include <hyperparallel/lowering/submodel_rows.hpp>
#include <hyperparallel/lowering/unrolled_rows.hpp>
#include <hyperparallel/strategy/partition_stages.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Which ranks run which module, and how.
struct submodel_plan {
  group_table table{};
  growing_array<strategy_value> strategy{};  ///< of each group of the table
};

struct submodel_program {
  submodel_status groups{};
  unroll_status rows{};
  growing_array<int> group_of_part;  ///< the first of those with its ranks
  sharded_program program;

  constexpr bool ok() const { return groups.ok() && program.status.code == strategy_code::ok && rows.ok(); }
};

namespace detail {

/// Whether each group has a strategy of as many ranks, and those of equal ranks the same. A strategy that could not be made is
/// left to the partitioner.
constexpr submodel_status check_strategies(const submodel_plan& plan, const submodel_cut& c) {
  const group_table& t = plan.table;
  if (plan.strategy.size != t.group.size)
    return {.code = submodel_code::strategies_for_other_groups, .given = plan.strategy.size, .expected = t.group.size};
  for (int g = 0; g < t.group.size; ++g) {
    const strategy_value& s = plan.strategy.item[g];
    const int ranks = static_cast<int>(rank_count(t.group.item[g])), given = position_count(s.mesh.shape);
    if (s.refused.code == strategy_code::ok && given != ranks)
      return {.code = submodel_code::strategy_has_other_ranks, .group = g, .given = given, .expected = ranks};
    for (int other = 0; other < g; ++other)
      if (c.part_of_group.item[other] == c.part_of_group.item[g] && !(plan.strategy.item[other] == s))
        return {.code = submodel_code::strategies_differ_on_ranks, .group = g, .other = other};
  }
  return {};
}

/// The stages of a plan's modules on its parts, with the strategies of the parts, and the graph in their order.
struct submodel_stages {
  submodel_status status{};
  growing_array<int> group_of_part;  ///< the first of those with its ranks
  growing_array<int> module_of_stage;
  program_stages stages;
  graph ordered;
};

constexpr submodel_stages stages_of_submodels(const graph& g, const submodel_plan& plan) {
  submodel_stages out;
  submodel_cut c = cut_by_modules(g, plan.table);
  out.status = c.status;
  if (out.status.ok()) out.status = check_frozen(g, plan.table);
  if (out.status.ok()) out.status = check_strategies(plan, c);
  if (!out.status.ok()) return out;
  out.group_of_part.resize(c.parts, -1);
  for (int k = plan.table.group.size - 1; k >= 0; --k) out.group_of_part.item[c.part_of_group.item[k]] = k;
  out.module_of_stage = static_cast<growing_array<int>&&>(c.module_of_stage);
  out.stages = {static_cast<stage_cut&&>(c.cut), static_cast<growing_array<int>&&>(c.part_of_stage), c.parts, {}};
  for (const int k : out.group_of_part) out.stages.strategy.push(plan.strategy.item[k]);
  out.ordered = copy_with_room(g);
  arrange_by_stages(out.ordered, out.stages.cut);
  return out;
}

}  // namespace detail

/// The program of a step of training, all micro-batches unrolled.
constexpr submodel_program partition(const graph& g, const submodel_plan& plan) {
  submodel_program out;
  detail::submodel_stages cut = detail::stages_of_submodels(g, plan);
  out.groups = cut.status;
  if (!out.groups.ok()) return out;
  out.group_of_part = static_cast<growing_array<int>&&>(cut.group_of_part);
  const program_stages& stages = cut.stages;
  out.program = partition(cut.ordered, stages.strategy.item[0], stages);
  if (out.program.status.code != strategy_code::ok) return out;
  unrolled_rows unrolled =
      unroll(out.program, rows_of_submodels(out.program, stages.part_of_stage), {.stages_are_a_line = false});
  out.rows = unrolled.status;
  if (out.rows.ok()) out.program = static_cast<sharded_program&&>(unrolled.program);
  return out;
}

}}  // namespace hyperparallel::v0_2
