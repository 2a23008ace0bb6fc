// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the busiest receiver of each kind of move takes over each link level of a topology.
//
// Devices along axes that a move leaves alone behave alike where a level's groups follow the mesh, so one group along
// the moved axes tells all. In a native collective every member takes an equal share from every other one, hence the
// peers on each level are all that is to be counted; other moves are read off their transfers. Laws: elements add up to
// at most what the kind receives, for collectives to exactly that; the time is at most `price_step`'s of the emitted
// steps, and equal where the move is one step in which every device sends as much as it receives. Of two steps the
// levels are added up before they are compared.
// Units: elements; picoseconds. O(kinds · transfers of a few receivers), less for collectives.

#include <hyperparallel/model/move_kinds.hpp>
#include <hyperparallel/redistribution/interconnect.hpp>

namespace hyperparallel {

/// Over all steps of a move.
struct move_load {
  extent_t elements[max_link_levels] = {};
  extent_t messages[max_link_levels] = {};
  cost_code code = cost_code::ok;
  friend constexpr bool operator==(const move_load&, const move_load&) = default;
};

/// All levels at once, on each one latencies and then bytes.
constexpr time_cost time_of(const move_load& load, extent_t element_bytes, const topology_value& t) {
  time_cost time{load.code, 0};
  for (int l = 0; l < t.level_count; ++l)
    time = slower(time, then(latencies(load.messages[l], t.level[l].latency),
                             work_time(load.elements[l], element_bytes, 1, t.level[l].bandwidth)));
  return time;
}

namespace detail {

/// Adds `elements` in `messages` from one rank to another.
constexpr void load_level(move_load& load, const interconnect& net, int from, int to, extent_t elements,
                          extent_t messages) {
  const int level = level_between(net.topology, rank_on(net, {}, from), rank_on(net, {}, to));
  if (level == no_link) return;
  if (level == not_connected) {
    load.code = cost_code::ranks_are_not_connected;
    return;
  }
  load.elements[level] += elements;
  load.messages[level] += messages;
}

/// Whether every member of the group takes alike from every other one, in one step.
constexpr bool takes_alike(const move_kind& k, extent_t target, int members) {
  if (k.plan == plan_kind::all_gather || k.plan == plan_kind::all_to_all)
    return target / members * (members - 1) == k.received;
  return k.plan == plan_kind::reduce_scatter && target * (members - 1) == k.received;
}

/// Members of a group on each level beside its first, where groups along the same axes recur.
struct group_peers {
  unsigned axes = 0;
  int members = 1;
  extent_t count[max_link_levels] = {};
  cost_code code = cost_code::ok;
};

/// What position `at` takes, read off the transfers of the plan.
constexpr move_load load_of_receiver(const move_plan& plan, const interconnect& net, int at) {
  move_load load;
  for (int i = 0; i < plan.step_count; ++i) {
    const step_receiver r = receiver_of(plan.step[i], plan.shape, at);
    for (extent_t k = 0; k < r.transfers; ++k) {
      const transfer t = transfer_at(plan.step[i], r, k);
      if (const extent_t n = volume(t.part); n > 0 && !is_own(r, t)) load_level(load, net, t.sender, at, n, 1);
    }
  }
  return load;
}

constexpr extent_t sum_of_elements(const move_load& load) {
  extent_t sum = 0;
  for (const extent_t n : load.elements) sum += n;
  return sum;
}

/// The positions with coordinate 0 on all axes outside `axes`, of which `limit` or fewer coordinates of each axis.
struct group_positions {
  mesh_shape mesh{};
  axis_list axes{};
  int limit = 0;
  int count = 1;

  constexpr group_positions(const mesh_shape& m, unsigned mask, int most)
      : mesh(m), axes(axes_of(m, mask)), limit(most) {
    for (int i = 0; i < axes.count; ++i) count *= taken(i);
  }
  constexpr int taken(int i) const { return mesh.size[axes.axis[i]] < limit ? mesh.size[axes.axis[i]] : limit; }
  constexpr int at(int number) const {
    coordinate c;
    for (int i = axes.count - 1; i >= 0; --i) {
      c.at[axes.axis[i]] = number % taken(i);
      number /= taken(i);
    }
    return position_of(mesh, c);
  }
};

inline constexpr int every_coordinate = 1 << 30;

constexpr move_load slower_load(const move_load& a, const move_load& b, const topology_value& t) {
  const time_cost one = time_of(a, 4, t), other = time_of(b, 4, t);
  if (!one.ok()) return a;
  return !other.ok() || other.picoseconds > one.picoseconds ? b : a;
}

/// The levels over which the first member of a group meets the others, looked up or counted.
constexpr const group_peers& peers_along(growing_array<group_peers>& known, const mesh_shape& m, unsigned axes,
                                         const interconnect& net) {
  for (int i = 0; i < known.size; ++i)
    if (known[i].axes == axes) return known[i];
  const group_positions group(m, axes, every_coordinate);
  move_load one_each;
  for (int i = 1; i < group.count; ++i) load_level(one_each, net, group.at(i), group.at(0), 1, 1);
  group_peers peers{axes, group.count, {}, one_each.code};
  for (int l = 0; l < max_link_levels; ++l) peers.count[l] = one_each.messages[l];
  return known[known.push(peers)];
}

/// Adds elements in proportion to the peers on each level, what does not divide on the outermost.
constexpr void add_equal_shares(move_load& load, const group_peers& peers, extent_t elements) {
  if (peers.code != cost_code::ok) load.code = peers.code;
  if (elements == 0) return;
  extent_t left = elements;
  int outermost = 0;
  for (int l = 0; l < max_link_levels; ++l) {
    if (peers.count[l] == 0) continue;
    const extent_t share = elements * peers.count[l] / (peers.members - 1);
    load.elements[l] += share;
    load.messages[l] += peers.count[l];
    left -= share;
    outermost = l;
  }
  load.elements[outermost] += left;
}

constexpr move_load load_of_ring(const move_kind& k, const mesh_shape& m, const interconnect& net) {
  move_load load;
  const group_positions ring(m, k.axes, every_coordinate);
  for (int i = 0; i < ring.count; ++i) {
    move_load one;
    load_level(one, net, ring.at((i + ring.count - k.travel) % ring.count), ring.at(i), k.received, 1);
    load = slower_load(load, one, net.topology);
  }
  return load;
}

/// A load read off the transfers of one receiver, which its layouts tell but for the tensor's size.
struct known_transfers {
  layout_value source{}, target{};
  extent_t received = 0;
  move_load load{};
};

/// What is known so far of the loads of a program's moves.
struct known_loads {
  growing_array<group_peers> peers;
  growing_array<known_transfers> transfers;
};

/// The load of a move between the same layouts: dims divide, so that all parts grow with the tensor.
constexpr bool scale_known(const layout_value& source, const layout_value& target, extent_t received,
                           const known_loads& known, move_load& load) {
  for (const known_transfers& one : known.transfers) {
    if (one.source != source || one.target != target) continue;
    load = one.load;
    for (extent_t& elements : load.elements) {
      const wide_unsigned scaled = static_cast<wide_unsigned>(elements) * static_cast<wide_unsigned>(received);
      if (scaled % static_cast<wide_unsigned>(one.received) != 0) return false;
      elements = static_cast<extent_t>(scaled / static_cast<wide_unsigned>(one.received));
    }
    return true;
  }
  return false;
}

constexpr move_load load_of_transfers(const sharded_program& p, const move_kind& k, const interconnect& net,
                                      known_loads& known) {
  const program_value &from = p.value[p.move[k.example].source], &to = p.value[p.move[k.example].target];
  move_load load;
  if (scale_known(from.layout, to.layout, k.received, known, load)) return load;
  load = {};
  const move_plan plan = plan_move(from.layout, to.layout, p.graph.tensor[from.tensor].shape);
  constexpr int limits[] = {1, 2, every_coordinate};  // the busiest is nearly always in the corner, or near it
  for (const int limit : limits) {
    const group_positions receivers(p.mesh.shape, k.axes, limit);
    extent_t most = 0;
    for (int i = 0; i < receivers.count; ++i) {
      const move_load one = load_of_receiver(plan, net, receivers.at(i));
      most = larger(most, sum_of_elements(one));
      load = slower_load(load, one, net.topology);
    }
    if (most != k.received) continue;
    if (receivers.count == 1) known.transfers.push({from.layout, to.layout, k.received, load});
    break;
  }
  return load;
}

constexpr move_load load_of(const sharded_program& p, const move_kind& k, const interconnect& net, known_loads& known) {
  if (k.received == 0) return {};
  if (k.travel > 0) return load_of_ring(k, p.mesh.shape, net);
  const mesh_shape& m = p.mesh.shape;
  const extent_t target = local_elements(p, p.move[k.example].target);
  move_load load;
  if (k.share > 0) {  // all other terms of a share, then all other shares
    add_equal_shares(load, peers_along(known.peers, m, k.reduced, net), k.received - (target - k.share));
    add_equal_shares(load, peers_along(known.peers, m, k.axes, net), target - k.share);
    return load;
  }
  const int members = group_positions(m, k.axes, every_coordinate).count;
  if (k.steps == 2 && k.reduced == k.axes) {  // every member reduces a share, then takes its target's from the holders
    const unsigned holding = k.axes & ~cut_axes(p.value[p.move[k.example].target].layout);
    const int holders = group_positions(m, holding, every_coordinate).count;
    const extent_t whole = local_elements(p, p.move[k.example].source), share = whole / members;
    if (share * members == whole && share * (members + holders - 2) == k.received) {
      add_equal_shares(load, peers_along(known.peers, m, k.axes, net), share * (members - 1));
      add_equal_shares(load, peers_along(known.peers, m, holding, net), share * (holders - 1));
      return load;
    }
  }
  const unsigned others = k.axes & ~k.reduced;
  const bool from_whole = (cut_axes(p.value[p.move[k.example].source].layout) & k.axes) == 0;
  if (k.steps == 2 && others != 0 && from_whole &&
      (cut_axes(p.value[p.move[k.example].target].layout) & k.axes) == k.reduced) {
    // Every member reduces a share of its target, then takes the other shares.
    const int terms = group_positions(m, k.reduced, every_coordinate).count, shares = members / terms;
    const extent_t share = target / shares;
    if (share * shares == target && share * (terms + shares - 2) == k.received) {
      add_equal_shares(load, peers_along(known.peers, m, k.reduced, net), share * (terms - 1));
      add_equal_shares(load, peers_along(known.peers, m, others, net), target - share);
      return load;
    }
  }
  if (!takes_alike(k, target, members)) return load_of_transfers(p, k, net, known);
  add_equal_shares(load, peers_along(known.peers, m, k.axes, net), k.received);
  return load;
}

}  // namespace detail

/// Of each kind of move. `net` is a topology that `check` accepts, with the ranks of the mesh's positions.
constexpr growing_array<move_load> loads_of_moves(const sharded_program& p, const program_moves& moves,
                                                  const interconnect& net) {
  growing_array<move_load> load;
  load.reserve(moves.kind.size);
  detail::known_loads known;
  for (int k = 0; k < moves.kind.size; ++k) load.push(detail::load_of(p, moves.kind[k], net, known));
  return load;
}

}  // namespace hyperparallel
