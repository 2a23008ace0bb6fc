// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sub-models: a graph cut by the modules of a table into stages, and the parts, SPMD programs on ranks of their own, that
// run them.
//
//   const hp::submodel_cut c = hp::cut_by_modules(graph, table);
//   c.cut, c.part_of_stage, c.parts        what `partition` takes for stages, see partition_stages.hpp
//
// Each module is one stage, numbered so that a module reads modules of lesser numbers alone, of several that may come next
// the first of the table. Stages are no line: two towers read nothing of each other. Each set of ranks is one part, numbered
// by its ranks; modules on one group, or on groups of equal ranks, are stages of one part. Everything behind the forward
// operators follows the cut of stage_cut.hpp.
//
// Laws of an accepted cut: those of claim_operators and stage_cut.hpp; a stage reads lesser stages forward; parts have the
// ranks 0, 1, 2, … one behind another. Refused: ranks of a group that are no run, groups that share some of their ranks,
// ranks that lie idle before others (those behind all groups may), modules that wait for each other.
// Complexity: that of claim_operators and of the cut, and O(modules² + groups · log groups).

#include <hyperparallel/graph/stage_cut.hpp>
#include <hyperparallel/groups/module_claims.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class submodel_code : unsigned char {
  ok,
  groups_are_refused,             ///< `groups` says why
  graph_cannot_be_cut,            ///< `cut` says why
  ranks_are_no_run,               ///< group `group`: `rank` stands where `expected` has to
  groups_overlap,                 ///< `other` and `group` share `rank`, and not all
  rank_is_left_out,               ///< `rank`, before those of group `group`
  modules_wait_for_each_other,    ///< operator `named` of `module` reads what `other` makes, which waits for `module`
  strategies_for_other_groups,    ///< `given` for `expected`
  strategy_has_other_ranks,       ///< of group `group`: `given` for `expected`
  strategies_differ_on_ranks,     ///< of groups `other` and `group`, which have the same ranks
  parameter_is_half_frozen,       ///< tensor `named`: of module `module`, which is frozen, and of `other`, which is not
  frozen_parameter_has_gradient,  ///< tensor `named` of module `module`
  modules_are_too_many            ///< to be searched: `given` for at most `expected`
};

constexpr const char* name_of(submodel_code c) {
  return detail::enum_name(
      "ok\0groups_are_refused\0graph_cannot_be_cut\0ranks_are_no_run\0groups_overlap\0rank_is_left_out\0"
      "modules_wait_for_each_other\0strategies_for_other_groups\0strategy_has_other_ranks\0strategies_differ_on_ranks\0"
      "parameter_is_half_frozen\0frozen_parameter_has_gradient\0modules_are_too_many",
      c);
}

/// What is to blame, by number; -1 where nothing of its kind is.
struct submodel_status {
  submodel_code code = submodel_code::ok;
  group_status groups{};
  stage_cut_status cut{};
  int group = -1, other = -1, module = -1, rank = -1, named = -1, given = -1, expected = -1;
  constexpr bool ok() const { return code == submodel_code::ok; }
  friend constexpr bool operator==(const submodel_status&, const submodel_status&) = default;
};

struct submodel_cut {
  submodel_status status{};
  stage_cut cut;
  growing_array<int> module_of_stage;
  growing_array<int> part_of_stage;
  growing_array<int> part_of_group;
  int parts = 0;
};

namespace detail {

/// The part of each group: those with equal ranks share one. Domain: the table passes check_groups.
constexpr submodel_status find_parts_of_groups(const group_table& t, submodel_cut& c) {
  growing_array<int> order;
  growing_array<extent_t> key;
  for (int g = 0; g < t.group.size; ++g) {
    const process_group& one = t.group.item[g];
    int expected = rank_at(one, 0);
    key.push(-extent_t{expected});
    order.push(g);
    for (const rank_range& r : one.ranks) {
      if (r.first != expected)
        return {.code = submodel_code::ranks_are_no_run, .group = g, .rank = r.first, .expected = expected};
      expected = r.last + 1;
    }
  }
  sort_by_falling(order, key);
  c.part_of_group.resize(t.group.size, -1);
  int next = 0, before = -1;  // the first rank that no group has had so far; the group that had the last ones
  for (const int g : order) {
    const int first = rank_at(t.group.item[g], 0);
    const int end = first + static_cast<int>(rank_count(t.group.item[g]));
    const bool again = before >= 0 && first == rank_at(t.group.item[before], 0) && end == next;
    if (first < next && !again)
      return {.code = submodel_code::groups_overlap, .group = g, .other = before, .rank = first};
    if (first > next) return {.code = submodel_code::rank_is_left_out, .group = g, .rank = next};
    c.part_of_group.item[g] = again ? c.parts - 1 : c.parts++;
    next = end;
    before = g;
  }
  return {};
}

/// Which module reads what another one makes: an operator for each pair of them, and how many each waits for.
class module_reads {
 public:
  constexpr module_reads(const graph& g, const growing_array<int>& module_of_op, int modules)
      : modules_(modules), reader_(modules * modules, -1), waits_(modules, 0) {
    for (int o = 0; o < g.op.size && g.op.item[o].phase == graph_phase::forward; ++o)
      for (int i = 0; i < g.op.item[o].operand_count; ++i) {
        const int producer = g.tensor.item[g.op.item[o].operand[i]].producer;
        if (producer < 0 || module_of_op.item[producer] == module_of_op.item[o]) continue;
        int& first = reader_.item[module_of_op.item[o] * modules + module_of_op.item[producer]];
        if (first >= 0) continue;
        first = o;
        ++waits_.item[module_of_op.item[o]];
      }
  }

  /// The modules in the order of stages, or why there is none.
  constexpr submodel_status order(growing_array<int>& stage_of_module, growing_array<int>& module_of_stage) {
    stage_of_module.resize(modules_, -1);
    for (int s = 0; s < modules_; ++s) {
      int next = 0;
      while (next < modules_ && (stage_of_module.item[next] >= 0 || waits_.item[next] > 0)) ++next;
      if (next == modules_) return circle(stage_of_module);
      stage_of_module.item[next] = module_of_stage.push(next);
      for (int m = 0; m < modules_; ++m)
        if (reader_.item[m * modules_ + next] >= 0) --waits_.item[m];
    }
    return {};
  }

 private:
  /// Every module that is left reads one that is left: as many steps back as there are modules end in a circle.
  constexpr submodel_status circle(const growing_array<int>& stage_of_module) const {
    int at = 0, from = -1;
    while (stage_of_module.item[at] >= 0) ++at;
    for (int k = 0; k <= modules_; ++k) {
      if (from >= 0) at = from;
      from = 0;
      while (stage_of_module.item[from] >= 0 || reader_.item[at * modules_ + from] < 0) ++from;
    }
    return {.code = submodel_code::modules_wait_for_each_other,
            .other = from,
            .module = at,
            .named = reader_.item[at * modules_ + from]};
  }

  int modules_;
  growing_array<int> reader_, waits_;
};

}  // namespace detail

/// Stages and parts of a training graph, or of its forward operators alone.
constexpr submodel_cut cut_by_modules(const graph& g, const group_table& t) {
  submodel_cut c;
  const module_claims claims = claim_operators(g, t);
  if (!claims.status.ok()) {
    c.status = {.code = submodel_code::groups_are_refused, .groups = claims.status};
    return c;
  }
  c.status = detail::find_parts_of_groups(t, c);
  growing_array<int> stage_of_module, said;
  if (c.status.ok())
    c.status = detail::module_reads(g, claims.module_of_op, t.placed.size).order(stage_of_module, c.module_of_stage);
  if (!c.status.ok()) return c;
  for (const int m : c.module_of_stage)
    c.part_of_stage.push(c.part_of_group.item[find_group(t, t.placed.item[m].group.text)]);
  for (const int m : claims.module_of_op) said.push(m < 0 ? -1 : stage_of_module.item[m]);
  c.cut = cut_as_said(g, said, t.placed.size);
  if (!c.cut.status.ok()) c.status = {.code = submodel_code::graph_cannot_be_cut, .cut = c.cut.status};
  return c;
}

}}  // namespace hyperparallel::v0_2
