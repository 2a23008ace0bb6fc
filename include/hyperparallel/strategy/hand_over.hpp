// SPDX-License-Identifier: Apache-2.0
#pragma once
// Hand-overs: moves between two parts of a program, whose ranks are apart.
//
// Between equal layouts each rank pulls the whole block of the one at its position. Between others, as those on meshes of
// different sizes, each pulls what it wants from the ranks that have it, in one step of a relocation: as many elements as
// its target block has, the least that any plan brings, spread over the source's replicas. Domain of these functions: the
// move is a hand-over. O(cuts + ranks).

#include <hyperparallel/redistribution/relocation.hpp>
#include <hyperparallel/strategy/sharded_program.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Whether each rank takes the whole block of the one at its position; any other hand-over has a plan.
constexpr bool is_by_position(const sharded_program& p, const program_move& m) {
  return p.value.item[m.source].layout == p.value.item[m.target].layout;
}

/// The plan of one step, in positions of either part, or why there is none. Terms that would meet in two steps are refused.
constexpr move_plan plan_of_hand_over(const sharded_program& p, const program_move& m) {
  const shape& s = p.graph.tensor.item[p.value.item[m.source].tensor].shape;
  const auto side = [&](int value) {
    const int part = part_of_value(p, value);
    return tensor_side{p.value.item[value].layout, s, {ranks_of_part(p, part), first_rank_of(p, part)}};
  };
  const relocation r = plan_relocation(side(m.source), side(m.target));
  if (r.code == relocation_code::ok && r.form == relocation_form::boxes && r.plan.step_count == 1) return r.plan;
  move_plan refused;
  refused.code = r.code == relocation_code::traffic_overflows   ? move_code::traffic_overflows
                 : r.code == relocation_code::target_is_refused ? move_code::target_is_refused
                                                                : move_code::source_is_refused;
  return refused;
}

/// Calls `visit(sender, elements)` for what the receiver at `position` takes in a plan's only step. O(transfers).
template <class Visit>
constexpr void visit_taken(const move_plan& plan, int position, const Visit& visit) {
  const step_receiver r = receiver_of(plan.step[0], plan.shape, position);
  for (extent_t k = 0; k < r.transfers; ++k) {
    const transfer t = transfer_at(plan.step[0], r, k);
    if (const extent_t elements = volume(t.part); elements > 0) visit(t.sender, elements);
  }
}

}}}  // namespace hyperparallel::v0_2::detail
