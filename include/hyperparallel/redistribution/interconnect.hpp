// SPDX-License-Identifier: Apache-2.0
#pragma once
// The links between the devices of a move.
//
//   topology    levels of links (hardware/topology.hpp); a device has one port per level
//   full mesh   a private link, each way, between devices that differ along exactly one axis of a matrix: racks and
//               pods of UB-Mesh. Other pairs have none, so what they exchange goes over a third device, in two steps.
//
// Law: at most one level, or one axis, joins two ranks, and it joins them both ways.

#include <hyperparallel/hardware/topology.hpp>
#include <hyperparallel/mesh/coordinates.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class interconnect_kind : unsigned char { unpriced, topology, full_mesh };

struct interconnect {
  interconnect_kind kind = interconnect_kind::unpriced;
  topology_value topology{};
  mesh_shape mesh{};                ///< of a full mesh; the layouts may see its devices through another matrix
  link_level along[max_axes] = {};  ///< of a full mesh: the links along each axis; `group` is not read
  rank_list ranks{};                ///< ranks of the positions; empty: equal
};

/// Steps take no time on it, only their bytes are counted. By name, because g++ 12 converts no `{}` to such an
/// aggregate.
inline constexpr interconnect without_links{};

constexpr interconnect on_topology(const topology_value& t, const rank_list& ranks = {}) {
  interconnect net;
  net.kind = interconnect_kind::topology;
  net.topology = t;
  net.ranks = ranks;
  return net;
}

/// `links` has an entry for each axis of `m`. No links where `m` is no mesh, which `check` refuses.
constexpr interconnect on_full_mesh(const mesh_shape& m, const link_level* links, const rank_list& ranks = {}) {
  interconnect net;
  net.kind = interconnect_kind::full_mesh;
  net.mesh = m;
  for (int a = 0; is_valid(m) && a < m.axis_count; ++a) net.along[a] = links[a];
  net.ranks = ranks;
  return net;
}

/// Whether steps can be priced: a valid matrix, positive bandwidths, latencies that are not negative, levels that nest.
/// O(levels).
constexpr cost_code check(const interconnect& net) {
  if (net.kind == interconnect_kind::topology) {
    const topology_code code = check(net.topology).code;
    if (code == topology_code::ok) return cost_code::ok;
    if (code == topology_code::latency_is_negative) return cost_code::latency_is_negative;
    return code == topology_code::bandwidth_is_not_positive ? cost_code::rate_is_not_positive
                                                            : cost_code::ranks_are_not_connected;
  }
  if (!is_valid(net.mesh)) return cost_code::ranks_are_not_connected;
  for (int a = 0; a < net.mesh.axis_count; ++a) {
    if (net.mesh.size[a] > 1 && net.along[a].bandwidth < 1) return cost_code::rate_is_not_positive;
    if (net.along[a].latency < 0) return cost_code::latency_is_negative;
  }
  return cost_code::ok;
}

/// The rank at a position of `ranks`, or of the links' own list where that is empty.
constexpr int rank_on(const interconnect& net, const rank_list& ranks, int position) {
  const int at = ranks.count > 0 ? rank_at(ranks, position) : position;
  return net.ranks.count > 0 ? rank_at(net.ranks, at) : at;
}

/// Whether the outermost level of a topology joins the ranks of positions 0 … `positions` - 1. Domain: the topology
/// passes its check. O(1), with a list of ranks O(positions).
constexpr topology_status check_span(const interconnect& net, int positions) {
  if (!net.ranks.listed) return check_span(net.topology, rank_on(net, {}, 0), rank_on(net, {}, positions - 1));
  int smallest = rank_on(net, {}, 0), largest = smallest;
  for (int p = 1; p < positions; ++p) {
    const int rank = rank_on(net, {}, p);
    smallest = rank < smallest ? rank : smallest;
    largest = rank > largest ? rank : largest;
  }
  return check_span(net.topology, smallest, largest);
}

/// Which link joins two ranks of a full mesh.
struct mesh_link {
  int axis = -1;  ///< the only one along which the two ranks differ; -1: no link joins them
  int peer = 0;   ///< coordinate of the other end
};

/// The axis along which alone two ranks differ, and the coordinate of `from` on it; no link leads beyond the mesh.
/// O(axes).
constexpr mesh_link link_between(const mesh_shape& m, int from, int to) {
  mesh_link link;
  for (int a = m.axis_count - 1; a >= 0; --a) {
    const int n = m.size[a];
    if (from % n != to % n) {
      if (link.axis >= 0) return {};
      link = {a, from % n};
    }
    from /= n;
    to /= n;
  }
  return from == 0 && to == 0 ? link : mesh_link{};
}

}}  // namespace hyperparallel::v0_2
