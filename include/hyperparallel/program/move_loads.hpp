// SPDX-License-Identifier: Apache-2.0
#pragma once
// What each kind of move of a program takes over each link level of a topology, step by step.
//
// A move between layouts is priced as the candidate that is fastest on the topology (redistribution/move_load.hpp): in
// one step or by levels, whatever its bytes. A rotation is one step whose longest hop counts. Laws: the time is that of
// `choose_move` by time; it is at most that of the plan by fewest bytes.
// Units: elements; picoseconds. O(kinds · candidates · steps).

#include <hyperparallel/redistribution/move_load.hpp>
#include <hyperparallel/strategy/move_kinds.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// A rotation: every device takes the whole block of the one that is so many places before it along an axis. Only the
/// longest hop counts.
constexpr move_load load_of_ring(const move_kind& k, const mesh_shape& m, const interconnect& net,
                                 extent_t element_bytes) {
  move_load load;
  load.step.push(step_levels());
  load.step[0].received = k.received * position_count(m);
  coordinate at, before;
  time_cost longest;
  for (int i = 0; i < m.size[k.travel_axis]; ++i) {
    at.at[k.travel_axis] = i;
    before.at[k.travel_axis] = (i + m.size[k.travel_axis] - k.travel) % m.size[k.travel_axis];
    const int level =
        level_between(net.topology, rank_on(net, {}, position_of(m, before)), rank_on(net, {}, position_of(m, at)));
    if (level == not_connected) {
      load.code = cost_code::ranks_are_not_connected;
      continue;
    }
    step_levels hop;
    hop.received = load.step[0].received;
    hop.level[level] = {1, k.received, k.received};
    const time_cost time = time_of(hop, element_bytes, net.topology);
    if (time.picoseconds <= longest.picoseconds) continue;
    longest = time;
    load.step[0] = hop;
  }
  return load;
}

constexpr move_load load_of(const sharded_program& p, const move_kind& k, fastest_moves& fastest) {
  if (k.received == 0) return move_load();
  const program_value &from = p.value[p.move[k.example].source], &to = p.value[p.move[k.example].target];
  const graph_tensor& t = p.graph.tensor[from.tensor];
  if (k.travel > 0) return load_of_ring(k, p.mesh.shape, fastest.links(), bytes_of(t.type));
  return fastest.load_of(from.layout, to.layout, t.shape, {k.plan, k.exchange_steps, k.nearest}, bytes_of(t.type));
}

}  // namespace detail

/// Of each kind of move. `net` is a topology that `check` accepts, with the ranks of the mesh's positions.
constexpr growing_array<move_load> loads_of_moves(const sharded_program& p, const program_moves& moves,
                                                  const interconnect& net) {
  growing_array<move_load> load;
  load.reserve(moves.kind.size);
  fastest_moves fastest(net);
  for (int k = 0; k < moves.kind.size; ++k) load.push(detail::load_of(p, moves.kind[k], fastest));
  return load;
}

}}  // namespace hyperparallel::v0_2
