// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why there is no strategy, or why one does not fit a graph: a code, and the rule, axis, dim and sizes to blame.

#include <hyperparallel/layout/shape.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class strategy_code : unsigned char {
  ok,
  graph_is_refused,         ///< the graph's own status says why
  axis_is_not_in_the_mesh,  ///< of a rule
  rule_matches_nothing,     ///< no operator or tensor has the rule's dim where it speaks
  dim_does_not_divide,      ///< `extent` of the dim by `pieces`
  pattern_matches_nothing,  ///< of a pin
  pin_has_wrong_rank,
  ring_axis_does_not_shard_the_sequence,
  name_is_unknown,      ///< of a named strategy
  ranks_do_not_factor,  ///< `extent` ranks into the strategy's axes, whose degrees multiply to `pieces`
  mesh_is_not_valid,    ///< it has no axes, or `axis` has `extent` devices
  too_many_rules,       ///< `extent` rules or pins, a strategy holds `pieces`
  pin_names_an_axis_twice,
  stages_are_refused,  ///< of a pipeline: their cut is of another graph, or of one whose attention travels a ring
  strategies_for_other_groups,  ///< of a pipeline: `extent` strategies for `pieces` groups of ranks
};

constexpr const char* name_of(strategy_code c) {
  return detail::enum_name(
      "ok\0graph_is_refused\0axis_is_not_in_the_mesh\0rule_matches_nothing\0dim_does_not_divide\0"
      "pattern_matches_nothing\0pin_has_wrong_rank\0ring_axis_does_not_shard_the_sequence\0name_is_unknown\0"
      "ranks_do_not_factor\0mesh_is_not_valid\0too_many_rules\0pin_names_an_axis_twice\0stages_are_refused\0"
      "strategies_for_other_groups",
      c);
}

/// Why a strategy was refused: the rule, the axis, the dim and the sizes. Numbers that the code does not need are 0.
struct strategy_status {
  strategy_code code = strategy_code::ok;
  int rule = -1;
  int axis = -1;    ///< of the mesh
  int op = -1;      ///< of the graph
  int tensor = -1;  ///< of the graph
  int dim = -1;     ///< named dim of the graph
  extent_t extent = 0;
  extent_t pieces = 0;
  int part = -1;  ///< of a program whose parts have strategies of their own
  friend constexpr bool operator==(const strategy_status&, const strategy_status&) = default;
};

}}  // namespace hyperparallel::v0_2
