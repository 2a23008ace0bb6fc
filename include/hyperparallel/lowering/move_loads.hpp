// SPDX-License-Identifier: Apache-2.0
#pragma once
// What each kind of move of a program takes over each kind of link, step by step.
//
// A move between layouts is priced as the candidate that is fastest on the links (redistribution/fastest_moves.hpp): in
// one step or by levels, whatever its bytes. A rotation on a topology is one step whose longest hop counts; on a full
// mesh a step along each axis that a hop crosses, since all devices rotate alike and no link carries two blocks. Laws: the time is that of
// `choose_move` by time; it is at most that of the plan by fewest bytes.
// Units: elements; picoseconds. O(kinds · candidates · steps).

#include <hyperparallel/redistribution/fastest_moves.hpp>
#include <hyperparallel/strategy/move_kinds.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// A rotation on a topology: only the longest hop counts.
constexpr move_load load_of_longest_hop(const move_kind& k, const mesh_shape& m, const interconnect& net,
                                        extent_t element_bytes) {
  move_load load;
  load.step.push(step_levels());
  load.step[0].received = k.received * position_count(m);
  coordinate at, before;
  time_cost longest;
  for (int i = 0; i < m.size[k.travel_axis]; ++i) {
    at.at[k.travel_axis] = i;
    before.at[k.travel_axis] = (i + m.size[k.travel_axis] - k.travel) % m.size[k.travel_axis];
    step_levels hop;
    hop.received = load.step[0].received;
    if (!visit_links(net, rank_on(net, {}, position_of(m, before)), rank_on(net, {}, position_of(m, at)),
                     [&](int level) { hop.level[level] = {1, k.received, k.received}; }))
      load.code = cost_code::ranks_are_not_connected;
    const time_cost time = time_of(hop, element_bytes, net);
    if (time.picoseconds <= longest.picoseconds) continue;
    longest = time;
    load.step[0] = hop;
  }
  return load;
}

/// A rotation on a full mesh. O(positions · axes).
constexpr move_load load_of_hops(const move_kind& k, const mesh_shape& m, const interconnect& net) {
  extent_t crossing[max_link_levels] = {};
  move_load load;
  for (int p = 0; p < position_count(m); ++p) {
    coordinate before = coordinates_of(m, p);
    int& place = before.at[k.travel_axis];
    place = (place + m.size[k.travel_axis] - k.travel) % m.size[k.travel_axis];
    if (!visit_links(net, rank_on(net, {}, position_of(m, before)), rank_on(net, {}, p), [&](int a) { ++crossing[a]; }))
      load.code = cost_code::ranks_are_not_connected;
  }
  for (int a = link_count(net) - 1; a >= 0; --a) {
    step_levels hop;
    hop.level[a] = {1, k.received, k.received};
    hop.received = k.received * crossing[a];
    load.add(hop);
  }
  return load;
}

/// A hand-over: what every device takes from those of another part. The one that waits longest counts, and on each level
/// the sender that sends most. O(positions + transfers).
constexpr move_load load_of_hand_over(const sharded_program& p, const move_kind& k, const interconnect& net,
                                      extent_t element_bytes) {
  const program_move& m = p.move[k.example];
  const int source = part_of_value(p, m.source), target = part_of_value(p, m.target);
  const int from = first_rank_of(p, source), to = first_rank_of(p, target), senders = ranks_of_part(p, source);
  move_plan plan;
  if (!k.by_position) plan = plan_of_hand_over(p, m);
  growing_array<extent_t> sent(senders * max_link_levels, 0);  // of each sender and level
  move_load load;
  load.step.push(step_levels());
  time_cost longest;
  extent_t received = 0;
  for (int i = 0; i < ranks_of_part(p, target); ++i) {
    step_levels hop;
    const auto take = [&](int sender, extent_t elements) {
      received += elements;
      if (!visit_links(net, rank_on(net, {}, from + sender), rank_on(net, {}, to + i), [&](int level) {
            hop.level[level].messages += 1;
            hop.level[level].elements += elements;
            sent.item[sender * max_link_levels + level] += elements;
          }))
        load.code = cost_code::ranks_are_not_connected;
    };
    if (k.by_position)
      take(i, k.received);
    else
      visit_taken(plan, i, take);
    const time_cost time = time_of(hop, element_bytes, net);
    if (i > 0 && time.picoseconds <= longest.picoseconds) continue;
    longest = time;
    load.step[0] = hop;
  }
  load.step[0].received = received;
  for (int i = 0; i < sent.size; ++i)
    if (level_load& one = load.step[0].level[i % max_link_levels]; one.sent < sent[i]) one.sent = sent[i];
  return load;
}

/// A rotation: every device takes the whole block of the one that is so many places before it along an axis.
constexpr move_load load_of_ring(const move_kind& k, const mesh_shape& m, const interconnect& net,
                                 extent_t element_bytes) {
  if (net.kind == interconnect_kind::full_mesh) return load_of_hops(k, m, net);
  return load_of_longest_hop(k, m, net, element_bytes);
}

/// Of each kind of move. Domain: `status_of` accepts the links that the moves are chosen on.
constexpr growing_array<move_load> loads_of_moves(const sharded_program& p, const program_moves& moves) {
  growing_array<move_load> load = moves.load;
  for (int k = 0; k < load.size; ++k) {  // none without priced links
    const move_kind& kind = moves.kind[k];
    const extent_t bytes = bytes_of(p.graph.tensor[p.value[p.move[kind.example].source].tensor].type);
    const mesh_shape& mesh = p.value[p.move[kind.example].target].layout.mesh;
    if (kind.travel > 0) load[k] = detail::load_of_ring(kind, mesh, moves.links, bytes);
    if (kind.hand_over) load[k] = detail::load_of_hand_over(p, kind, moves.links, bytes);
  }
  return load;
}

}}}  // namespace hyperparallel::v0_2::detail
