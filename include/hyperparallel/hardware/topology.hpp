// SPDX-License-Identifier: Apache-2.0
#pragma once
// A topology: levels of links, innermost first, whose groups nest.
//
// Law: each level's group is a multiple of the one before (the last may be unbounded), so "joined on level l" is an
// equivalence that coarsens with l, and the level between two ranks is the first whose group holds both. The level
// that spans a set of ranks is therefore the level between its smallest and its largest rank.

#include <hyperparallel/hardware/cost.hpp>
#include <hyperparallel/hardware/link.hpp>

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

/// Levels of a topology, or axes of a full mesh.
inline constexpr int max_link_levels = 6;

struct topology_value {
  int level_count = 0;
  link_level level[max_link_levels] = {};
  friend constexpr bool operator==(const topology_value&, const topology_value&) = default;
};

enum class topology_code : unsigned char {
  ok,
  level_count_is_out_of_range,
  group_does_not_nest,
  bandwidth_is_not_positive,
  latency_is_negative,
  ranks_are_not_joined,       ///< see `check_span`
  axis_has_no_device,         ///< of a full mesh, as the next
  mesh_has_too_many_devices,  ///< `given` along the axis, of which `expected` would do
  share_by_size_is_refused,   ///< number `given`, from 0; `expected` is the size_share_code
};

struct topology_status {
  topology_code code = topology_code::ok;
  int level = 0;              ///< the level to blame; of a full mesh the axis, outermost first
  std::int64_t given = 0;     ///< levels, ranks of a group, bytes per second, picoseconds; ranks that are to be joined
  std::int64_t expected = 0;  ///< what it is to be at least, or a multiple of; ranks that the outermost level joins
  friend constexpr bool operator==(const topology_status&, const topology_status&) = default;
};

namespace detail {

/// Whether the latency and the shares by size of level number `at` can be. O(1).
constexpr topology_status check_link(const link_level& level, int at) {
  if (level.latency < 0) return {topology_code::latency_is_negative, at, level.latency, 0};
  const size_share_status s = check_shares(level);
  if (s.code == size_share_code::ok) return {};
  return {topology_code::share_by_size_is_refused, at, s.at, static_cast<std::int64_t>(s.code)};
}

}  // namespace detail

/// Whether the levels keep the law. O(levels).
constexpr topology_status check(const topology_value& t) {
  if (t.level_count < 1 || t.level_count > max_link_levels)
    return {topology_code::level_count_is_out_of_range, 0, t.level_count, t.level_count < 1 ? 1 : max_link_levels};
  int inner = 1;
  for (int l = 0; l < t.level_count; ++l) {
    const link_level& level = t.level[l];
    const bool last_and_unbounded = l + 1 == t.level_count && level.group == unbounded_group;
    if (level.group <= inner || (level.group % inner != 0 && !last_and_unbounded))
      return {topology_code::group_does_not_nest, l, level.group, inner};
    if (level.bandwidth < 1) return {topology_code::bandwidth_is_not_positive, l, level.bandwidth, 1};
    if (const topology_status s = detail::check_link(level, l); s.code != topology_code::ok) return s;
    inner = level.group;
  }
  return {};
}

/// Whether the outermost level joins all of the ranks `first` … `last`. Domain: `check` is ok. O(1).
constexpr topology_status check_span(const topology_value& t, std::int64_t first, std::int64_t last) {
  const int outermost = t.level_count > 0 ? t.level_count - 1 : 0, group = t.level[outermost].group;
  if (first >= 0 && first <= last && first / group == last / group) return {};
  return {topology_code::ranks_are_not_joined, outermost, last - first + 1, group};
}

/// A rank reaches itself over no link.
inline constexpr int no_link = -1;
/// No level joins the two ranks, or one of them is negative.
inline constexpr int not_connected = max_link_levels;

/// Index of the level over which two ranks reach each other, `no_link` or `not_connected`. Domain: `check` is ok.
/// O(levels).
constexpr int level_between(const topology_value& t, int a, int b) {
  if (a < 0 || b < 0) return not_connected;
  if (a == b) return no_link;
  for (int l = 0; l < t.level_count; ++l)
    if (a / t.level[l].group == b / t.level[l].group) return l;
  return not_connected;
}

/// Index of the level that spans `count` ranks: the outermost level between any two of them. `no_link` for fewer than
/// two distinct ranks. O(count + levels).
constexpr int level_spanning(const topology_value& t, const int* ranks, int count) {
  if (count < 1) return no_link;
  int smallest = ranks[0];
  int largest = ranks[0];
  for (int i = 1; i < count; ++i) {
    if (ranks[i] < smallest) smallest = ranks[i];
    if (ranks[i] > largest) largest = ranks[i];
  }
  return level_between(t, smallest, largest);
}

/// Time of one message between two ranks; 0 from a rank to itself. Fails with `ranks_are_not_connected`. O(levels).
constexpr time_cost transfer_time(const topology_value& t, int from, int to, std::int64_t bytes) {
  const int level = level_between(t, from, to);
  if (level == not_connected) return {cost_code::ranks_are_not_connected, 0};
  if (bytes < 0) return {cost_code::amount_is_negative, 0};
  if (level == no_link) return {};
  return transfer_time(t.level[level], bytes);
}

}}  // namespace hyperparallel::v0_2
