// SPDX-License-Identifier: Apache-2.0
#pragma once
// A full mesh: devices in a matrix, with a private link, each way, between any two that differ along exactly one axis.
//
// UB-Mesh racks are two-dimensional full meshes; racks that are joined in the same way are a four-dimensional one. Axes
// are listed outermost first: rank = (… (c0 · n1 + c1) · n2 + …). Law: a device has n - 1 links along an axis of n.

#include <hyperparallel/hardware/topology.hpp>
#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// `level[a]` is the kind of link along axis a; its `group` is the number of devices along the axis.
struct full_mesh_value {
  int level_count = 0;
  link_level level[max_link_levels] = {};
  friend constexpr bool operator==(const full_mesh_value&, const full_mesh_value&) = default;
};

namespace detail {

inline constexpr int most_devices_of_a_mesh = 1 << 30;

}  // namespace detail

/// Devices of the mesh; 0 where an axis has none or where they are too many. O(axes).
constexpr int device_count(const full_mesh_value& m) {
  std::int64_t devices = 1;
  for (int a = 0; a < m.level_count; ++a) {
    devices *= m.level[a].group;
    if (devices < 1 || devices > detail::most_devices_of_a_mesh) return 0;
  }
  return static_cast<int>(devices);
}

/// Whether every link can be priced. An axis of one device has no links, so its bandwidth may be 0. O(axes).
constexpr topology_status check(const full_mesh_value& m) {
  if (m.level_count < 1 || m.level_count > max_link_levels)
    return {topology_code::level_count_is_out_of_range, 0, m.level_count, m.level_count < 1 ? 1 : max_link_levels};
  std::int64_t devices = 1;
  for (int a = 0; a < m.level_count; ++a) {
    const link_level& level = m.level[a];
    const std::int64_t fitting = detail::most_devices_of_a_mesh / devices;
    if (level.group < 1) return {topology_code::axis_has_no_device, a, level.group, 1};
    if (level.group > fitting) return {topology_code::mesh_has_too_many_devices, a, level.group, fitting};
    if (level.group > 1 && level.bandwidth < 1)
      return {topology_code::bandwidth_is_not_positive, a, level.bandwidth, 1};
    if (const topology_status s = detail::check_link(level, a); s.code != topology_code::ok) return s;
    devices *= level.group;
  }
  return {};
}

/// Whether the ranks `first` … `last` are devices of the mesh. Domain: `check` is ok. O(axes).
constexpr topology_status check_span(const full_mesh_value& m, std::int64_t first, std::int64_t last) {
  const int devices = device_count(m);
  if (first >= 0 && first <= last && last < devices) return {};
  return {topology_code::ranks_are_not_joined, 0, last - (first < 0 ? first : 0) + 1, devices};
}

/// Time of one message between two ranks, relayed from device to device along one axis after the other, the innermost
/// first; 0 from a rank to itself. Fails with `ranks_are_not_connected`. Domain: `check` is ok. O(axes).
constexpr time_cost transfer_time(const full_mesh_value& m, int from, int to, std::int64_t bytes) {
  const int devices = device_count(m);
  if (from < 0 || to < 0 || from >= devices || to >= devices) return {cost_code::ranks_are_not_connected, 0};
  if (bytes < 0) return {cost_code::amount_is_negative, 0};
  time_cost time;
  for (int a = m.level_count - 1; a >= 0; --a) {
    const int n = m.level[a].group;
    if (from % n != to % n) time = then(time, transfer_time(m.level[a], bytes));
    from /= n;
    to /= n;
  }
  return time;
}

}}  // namespace hyperparallel::v0_2
