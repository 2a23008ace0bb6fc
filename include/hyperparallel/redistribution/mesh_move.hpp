// SPDX-License-Identifier: Apache-2.0
#pragma once
// The load of a move on a full mesh: of the candidate that `choose_move` would take by time, or of a relay.
//
// Every candidate's steps are counted by mesh_levels.hpp. Where none keeps each of its steps to links that there are (cut
// points that do not refine, matrices that are not cut where the mesh is), the exchange is relayed over third devices, so
// that every move between ranks of the mesh has a price. A padded dim is counted as the longer tensor's (padded_move.hpp),
// in one part. Laws, where none is: on up to `most_counted_positions` devices candidate and
// time are those of `choose_move` with `objective::time`, wherever it finds one.
// Units: elements, picoseconds. O(candidates · steps · receivers · transfers of one).

#include <hyperparallel/redistribution/choose_move.hpp>
#include <hyperparallel/redistribution/mesh_levels.hpp>
#include <hyperparallel/redistribution/move_load.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

constexpr move_load load_of_parts(const move_parts& m, const interconnect& net) {
  move_load load;
  for (int k = 0; k < step_count(m) && load.code == cost_code::ok; ++k) {
    step_part part[2] = {};
    const int parts = parts_at(m, k, part);
    load.add(levels_on_mesh(part, parts, net));
  }
  return load;
}

constexpr move_load relayed_load(const move_plan& p, const interconnect& net) {
  move_load load;
  for (int k = 0; k < p.step_count; ++k)
    visit_relays(p.step[k], p.shape, net, [&](const step_levels& one) { load.add(one); });
  return load;
}

move_load fastest_on_mesh_in_library(const layout_value& source, const layout_value& target, const shape& s,
                                     const interconnect& net, extent_t element_bytes);
constexpr move_load fastest_on_mesh_here(const layout_value& source, const layout_value& target, const shape& s,
                                         const interconnect& net, extent_t element_bytes) {
  const extended_pair longer = extend(source, target, s);
  const candidate_source candidates = longer.exists ? candidates_of(longer.source, longer.target, longer.shape, net)
                                                    : candidates_of(source, target, s, net);
  move_load best;
  move_figures least;
  bool found = false;
  for (int i = 0; i < move_candidate_count; ++i) {
    const move_candidate candidate = static_cast<move_candidate>(i);
    const candidate_result built = build_candidate(candidates, candidate);
    if (built.code != candidate_code::ok || (longer.exists && built.parts.count > 1)) continue;
    move_load load = detail::load_of_parts(built.parts, net);
    load.candidate = candidate;
    move_figures figures;
    figures.time = time_of(load, element_bytes, net);
    figures.received_total = received_by_all(load);
    figures.steps = load.step.size;
    if (!figures.time.ok() && figures.time.code != cost_code::overflow) continue;
    if (found && !detail::is_better(figures, least, objective::time)) continue;
    found = true;
    least = figures;
    best = load;
  }
  if (!found) best = detail::relayed_load(candidates.exchange, net);
  return best;
}

/// Domain: `plan_move` accepts the pair, the tensor is not empty, and the links are a full mesh that `status_of` accepts.
constexpr move_load fastest_on_mesh(const layout_value& source, const layout_value& target, const shape& s,
                                    const interconnect& net, extent_t element_bytes) {
  HYPERPARALLEL_TWIN(detail::fastest_on_mesh_in_library(source, target, s, net, element_bytes));
  return detail::fastest_on_mesh_here(source, target, s, net, element_bytes);
}

}}}  // namespace hyperparallel::v0_2::detail
