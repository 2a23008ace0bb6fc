// SPDX-License-Identifier: Apache-2.0
#pragma once
// The links between the devices of a move, or of a program.
//
//   topology    levels of links (hardware/topology.hpp); a device has one port per level
//   full mesh   a private link, each way, between devices that differ along exactly one axis of a matrix: racks and
//               pods of UB-Mesh (hardware/full_mesh.hpp). Other pairs have none, so what they exchange goes over third
//               devices, in as many steps as there are axes along which they differ.
//
// A link is known by its number: the level of a topology, the axis of a full mesh, outermost first.
// Law: at most one level, or one axis, joins two ranks, and it joins them both ways.

#include <hyperparallel/hardware/hardware_status.hpp>
#include <hyperparallel/mesh/coordinates.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class interconnect_kind : unsigned char { unpriced, topology, full_mesh };

struct interconnect {
  interconnect_kind kind = interconnect_kind::unpriced;
  topology_value topology{};
  mesh_shape mesh{};                ///< of a full mesh; the layouts may see its devices through another matrix
  link_level along[max_axes] = {};  ///< of a full mesh: the links along each axis; `group` is not read
  rank_list ranks{};                ///< ranks of the positions; empty: equal
  /// Lists of ranks are the same where they are the same list in memory.
  friend constexpr bool operator==(const interconnect& a, const interconnect& b) {
    bool equal = a.kind == b.kind && a.topology == b.topology && a.mesh == b.mesh && a.ranks.count == b.ranks.count &&
                 a.ranks.first == b.ranks.first && a.ranks.rank == b.ranks.rank && a.ranks.listed == b.ranks.listed;
    for (int x = 0; x < max_axes; ++x) equal = equal && a.along[x] == b.along[x];
    return equal;
  }
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
  for (int a = 0; detail::is_valid(m) && a < m.axis_count; ++a) net.along[a] = links[a];
  net.ranks = ranks;
  return net;
}

/// The links of hardware, in either form; an interconnect is itself.
constexpr interconnect interconnect_of(const topology_value& t) { return on_topology(t); }
constexpr interconnect interconnect_of(const full_mesh_value& m) {
  mesh_shape shape;
  link_level along[max_link_levels];
  shape.axis_count = m.level_count;
  for (int a = 0; a < m.level_count && a < max_link_levels; ++a) {
    shape.size[a] = m.level[a].group;
    along[a] = m.level[a];
  }
  return on_full_mesh(shape, along);
}
constexpr const interconnect& interconnect_of(const interconnect& net) { return net; }

/// How many kinds of links there are, and each of them. O(1).
constexpr int link_count(const interconnect& net) {
  return net.kind == interconnect_kind::full_mesh  ? net.mesh.axis_count
         : net.kind == interconnect_kind::topology ? net.topology.level_count
                                                   : 0;
}
constexpr const link_level& link_at(const interconnect& net, int number) {
  return net.kind == interconnect_kind::full_mesh ? net.along[number] : net.topology.level[number];
}

namespace detail {

/// A full mesh as hardware has it; axes beyond `max_link_levels` are only counted.
constexpr full_mesh_value full_mesh_of(const interconnect& net) {
  full_mesh_value m;
  m.level_count = net.mesh.axis_count;
  for (int a = 0; a < m.level_count && a < max_link_levels; ++a) {
    m.level[a] = net.along[a];
    m.level[a].group = net.mesh.size[a];
  }
  return m;
}

}  // namespace detail

/// Whether steps can be priced: a valid matrix, positive bandwidths, latencies that are not negative, levels that nest.
/// O(levels).
constexpr cost_code check(const interconnect& net) {
  if (net.kind == interconnect_kind::topology) {
    const topology_code code = check(net.topology).code;
    if (code == topology_code::ok) return cost_code::ok;
    if (code == topology_code::latency_is_negative) return cost_code::latency_is_negative;
    if (code == topology_code::share_by_size_is_refused) return cost_code::efficiency_is_not_in_0_to_1;
    return code == topology_code::bandwidth_is_not_positive ? cost_code::rate_is_not_positive
                                                            : cost_code::ranks_are_not_connected;
  }
  if (!detail::is_valid(net.mesh)) return cost_code::ranks_are_not_connected;
  for (int a = 0; a < net.mesh.axis_count; ++a) {
    if (net.mesh.size[a] > 1 && net.along[a].bandwidth < 1) return cost_code::rate_is_not_positive;
    if (net.along[a].latency < 0) return cost_code::latency_is_negative;
    if (detail::check_shares(net.along[a]).code != size_share_code::ok) return cost_code::efficiency_is_not_in_0_to_1;
  }
  return cost_code::ok;
}

namespace detail {

/// The rank at a position of `ranks`, or of the links' own list where that is empty.
constexpr int rank_on(const interconnect& net, const rank_list& ranks, int position) {
  const int at = ranks.count > 0 ? rank_at(ranks, position) : position;
  return net.ranks.count > 0 ? rank_at(net.ranks, at) : at;
}

}  // namespace detail

/// Why a program's steps cannot be priced, with the place and the numbers: as `check` of its form, where a full mesh has
/// at most `max_link_levels` axes. Links without a price have none. O(levels).
constexpr topology_status status_of(const interconnect& net) {
  return net.kind == interconnect_kind::full_mesh ? check(detail::full_mesh_of(net)) : check(net.topology);
}

/// Whether the links join the ranks of positions 0 … `positions` - 1. Domain: `status_of` is ok. O(1), with a list of
/// ranks O(positions).
constexpr topology_status check_span(const interconnect& net, extent_t positions) {
  extent_t smallest = detail::rank_on(net, {}, 0), largest = smallest + positions - 1;
  for (int p = 0; net.ranks.listed && p < positions; ++p) {
    const extent_t rank = detail::rank_on(net, {}, p);
    largest = p == 0 ? rank : largest;
    smallest = rank < smallest ? rank : smallest;
    largest = rank > largest ? rank : largest;
  }
  if (net.kind == interconnect_kind::full_mesh) return check_span(detail::full_mesh_of(net), smallest, largest);
  return check_span(net.topology, smallest, largest);
}

/// A device and the links, and whether these join so many positions. O(tiers + levels), with a list of ranks
/// O(positions).
constexpr hardware_status check_hardware(const device_value& d, const interconnect& net, extent_t positions = 1) {
  hardware_status s{check(d), status_of(net)};
  if (s.topology.code == topology_code::ok) s.topology = check_span(net, positions);
  return s;
}

namespace detail {

/// Calls `visit(number)` for each link between two ranks: one level; on a full mesh each axis along which they differ,
/// the innermost first. False where they are not connected. Domain: `status_of` is ok. O(levels).
template <class Visit>
constexpr bool visit_links(const interconnect& net, int from, int to, const Visit& visit) {
  if (net.kind != interconnect_kind::full_mesh) {
    const int level = level_between(net.topology, from, to);
    if (level >= 0 && level < max_link_levels) visit(level);
    return level != not_connected;
  }
  const int devices = position_count(net.mesh);
  if (from < 0 || to < 0 || from >= devices || to >= devices) return false;
  for (int a = net.mesh.axis_count - 1; a >= 0; --a) {
    const int n = net.mesh.size[a];
    if (from % n != to % n) visit(a);
    from /= n;
    to /= n;
  }
  return true;
}

}  // namespace detail

/// Time of one message between two ranks, over one link after the other. Fails with `ranks_are_not_connected`. O(levels).
constexpr time_cost transfer_time(const interconnect& net, int from, int to, std::int64_t bytes) {
  time_cost time;
  const bool connected =
      detail::visit_links(net, from, to, [&](int l) { time = then(time, transfer_time(link_at(net, l), bytes)); });
  return connected ? time : time_cost{cost_code::ranks_are_not_connected, 0};
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
