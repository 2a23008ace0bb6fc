// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one step of a move takes on given links, counted from the transfers that it emits (alpha-beta).
//
//   topology    all ports at once. On each level a device takes its messages times the latency plus the received bytes
//               over the bandwidth to receive, and the sent bytes over the bandwidth to send. The step ends with its
//               slowest device.
//   full mesh   a step takes the greatest latency and the longest bytes over bandwidth of the links that it uses. One
//               between devices that no link joins has the code `ranks_are_not_connected`.
//
// Links whose shares of the bandwidth are stated by message size (hardware/link.hpp) take a receiver's messages as of one size;
// sent bytes count at the whole bandwidth. A message is one transfer from another device that is not empty. The arithmetic of reductions and copies in place are
// not priced. Steps of several plans may run at the same time; they share the links.
// Units: picoseconds, each term exact to half a one, saturating (hardware/cost.hpp).

#include <hyperparallel/redistribution/interconnect.hpp>
#include <hyperparallel/redistribution/move_step.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A step of one plan among those that run at the same time.
struct step_part {
  const move_step* step;
  const hyperparallel::shape* shape;
};

/// Counts of a move, `positions` entries each, that grow from step to step, and room for the loads of one step.
struct move_tally {
  int positions;
  extent_t* received;  ///< elements
  extent_t* sent;      ///< elements
  extent_t* messages;  ///< to the position
  extent_t* load;
};

/// Entries that a tally needs. Domain: `check(net)` is ok, 0 ≤ positions.
constexpr extent_t tally_size(const interconnect& net, extent_t positions) {
  const extent_t load = net.kind == interconnect_kind::topology    ? positions * net.topology.level_count
                        : net.kind == interconnect_kind::full_mesh ? position_count(net.mesh) + max_axes
                                                                   : 0;
  return 3 * positions + load;
}

namespace detail {

/// A zeroed tally in `entries`, which has `tally_size` of them.
constexpr move_tally tally_in(extent_t* entries, const interconnect& net, int positions) {
  const extent_t each = positions;
  for (extent_t i = 0; i < tally_size(net, each); ++i) entries[i] = 0;
  return {positions, entries, entries + each, entries + 2 * each, entries + 3 * each};
}

}  // namespace detail

struct step_price {
  time_cost time{};
  bool communicates = false;  ///< something is received
};

namespace detail {

constexpr const mesh_shape& receiving_mesh(const move_step& step) {
  return step.kind == step_kind::collect ? step.source.mesh : step.target.mesh;
}

/// What a receiver takes on one level, or a private link carries.
struct port_load {
  extent_t messages = 0, elements = 0;
};

/// The loads of a step: what the receiver at hand has taken, and a load that has been priced or will be.
struct link_loads {
  port_load own[max_link_levels] = {};
  port_load most[max_axes] = {};  ///< by level of one receiver, or of the busiest link along an axis
  cost_code code = cost_code::ok;
};

constexpr void load_links(link_loads& loads, const interconnect& net, const move_tally& tally, int from, int sender,
                          int to, extent_t elements) {
  if (net.kind == interconnect_kind::topology) {
    const int level = level_between(net.topology, from, to);
    if (level == no_link) return;
    if (level == not_connected) {
      loads.code = cost_code::ranks_are_not_connected;
      return;
    }
    ++loads.own[level].messages;
    loads.own[level].elements += elements;
    tally.load[extent_t{sender} * net.topology.level_count + level] += elements;
  } else if (net.kind == interconnect_kind::full_mesh) {
    const mesh_link link = link_between(net.mesh, from, to);
    if (link.axis < 0) {
      loads.code = cost_code::ranks_are_not_connected;
      return;
    }
    int at = link.peer;
    for (int a = 0; a < link.axis; ++a) at += net.mesh.size[a];
    tally.load[at] += elements;
    loads.most[link.axis].elements = larger(loads.most[link.axis].elements, tally.load[at]);
  }
}

/// Prices what one receiver has taken, unless another one took as much, and forgets it.
constexpr void finish_receiver(link_loads& loads, const interconnect& net, const move_tally& tally, extent_t bytes,
                               time_cost& time) {
  if (net.kind == interconnect_kind::full_mesh) {
    int links = 0;
    for (int a = 0; a < net.mesh.axis_count; ++a) links += net.mesh.size[a];
    for (int i = 0; i < links; ++i) tally.load[i] = 0;
    return;
  }
  for (int l = 0; l < net.topology.level_count; ++l) {
    const port_load own = loads.own[l];
    loads.own[l] = {};
    if (own.messages <= loads.most[l].messages && own.elements <= loads.most[l].elements) continue;
    if (own.messages >= loads.most[l].messages && own.elements >= loads.most[l].elements) loads.most[l] = own;
    const link_level& level = net.topology.level[l];
    time = slower(
        time, then(latencies(own.messages, level.latency), occupied_time(level, own.messages, own.elements, bytes)));
  }
}

/// The time of the senders, or of the links of a full mesh.
constexpr time_cost finish_step(const link_loads& loads, const interconnect& net, const move_tally& tally,
                                extent_t bytes, time_cost time) {
  if (net.kind == interconnect_kind::topology) {
    const int levels = net.topology.level_count;
    for (int l = 0; l < levels; ++l) {
      extent_t most = 0;
      for (int p = 0; p < tally.positions; ++p) {
        extent_t& load = tally.load[extent_t{p} * levels + l];
        most = larger(most, load);
        load = 0;
      }
      time = slower(time, work_time(most, bytes, 1, net.topology.level[l].bandwidth));
    }
    return time;
  }
  time_cost latency{};
  for (int a = 0; a < net.mesh.axis_count; ++a) {
    if (loads.most[a].elements == 0) continue;
    latency = slower(latency, latencies(1, net.along[a].latency));
    time = slower(time, occupied_time(net.along[a], 1, loads.most[a].elements, bytes));
  }
  return then(latency, time);
}

}  // namespace detail

/// Prices the `parts` steps that run at the same time, elements of `element_bytes` each, and adds their transfers to
/// the tally. Domain: `check(net)` is ok. The tally is complete where the links do not carry the step, too.
/// O(positions · (transfers of a receiver + links)).
constexpr step_price price_step(const step_part* part, int parts, const interconnect& net, extent_t element_bytes,
                                const move_tally& tally) {
  step_price price;
  detail::link_loads loads;
  int receivers = 0;
  for (int i = 0; i < parts; ++i) {
    const int n = position_count(detail::receiving_mesh(*part[i].step));
    receivers = receivers < n ? n : receivers;
  }
  for (int p = 0; p < receivers; ++p) {
    const extent_t before = tally.messages[p];
    for (int i = 0; i < parts; ++i) {
      const move_step& step = *part[i].step;
      if (p >= position_count(detail::receiving_mesh(step))) continue;
      const step_receiver r = receiver_of(step, *part[i].shape, p);
      const int to = detail::rank_on(net, step.kind == step_kind::collect ? step.source_ranks : step.target_ranks, p);
      for (extent_t k = 0; k < r.transfers; ++k) {
        const transfer t = transfer_at(step, r, k);
        const extent_t n = volume(t.part);
        if (n == 0 || t.sender == r.position) continue;
        tally.received[p] += n;
        tally.sent[t.sender] += n;
        ++tally.messages[p];
        detail::load_links(loads, net, tally, detail::rank_on(net, step.source_ranks, t.sender), t.sender, to, n);
      }
    }
    if (tally.messages[p] == before) continue;
    price.communicates = true;
    detail::finish_receiver(loads, net, tally, element_bytes, price.time);
  }
  price.time = detail::finish_step(loads, net, tally, element_bytes, price.time);
  if (loads.code != cost_code::ok) price.time = {loads.code, 0};
  return price;
}

}}  // namespace hyperparallel::v0_2
