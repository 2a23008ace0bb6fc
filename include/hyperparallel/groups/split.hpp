// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many devices each module gets, so that the slowest takes the least time, with a proof that no split takes less.
//
//   const hp::device_split s = hp::split_devices(load, 128);
//   s.time, s.devices[m]     the least longest time, and devices of module m; of all such splits one of fewest devices
//   s.needed[m]              fewest devices with which module m takes less; they are more than there are
//
// A module's time is a table over the numbers of devices that it may have; it need not fall, and numbers below what its
// memory needs are left out. Exact: a longest time T can be kept to where the fewest devices of each module with a time up
// to T are no more than there are, so the least T is found among the times of the tables by bisection. Laws: no split has a
// lesser longest time (`is_least_split` proves it from `needed` alone); as many devices as the fewest that reach it.
// Complexity: O(entries · log entries).

#include <hyperparallel/groups/group_table.hpp>
#include <hyperparallel/strategy/interval_packing.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A number of devices that a module may have, and the time that it takes then, in any unit.
struct device_time {
  int devices = 0;
  extent_t time = 0;
  friend constexpr bool operator==(const device_time&, const device_time&) = default;
};

struct module_load {
  growing_array<device_time> choice{};  ///< in any order
  int least = 1;                        ///< devices whose memory holds the module
};

enum class split_code : unsigned char {
  ok,
  devices_are_not_positive,  ///< `given`
  split_has_no_module,
  size_is_not_positive,  ///< entry `choice` of module `module`: `given` devices
  time_is_negative,      ///< entry `choice` of module `module`
  module_has_no_size,    ///< module `module` needs `expected` devices, and no entry has as many
  devices_are_too_few    ///< `given` for `expected`, the fewest of all modules
};

constexpr const char* name_of(split_code c) {
  return detail::enum_name(
      "ok\0devices_are_not_positive\0split_has_no_module\0size_is_not_positive\0time_is_negative\0module_has_no_size\0"
      "devices_are_too_few",
      c);
}

struct split_status {
  split_code code = split_code::ok;
  int module = -1, choice = -1;
  extent_t given = 0, expected = 0;
  constexpr bool ok() const { return code == split_code::ok; }
  friend constexpr bool operator==(const split_status&, const split_status&) = default;
};

struct device_split {
  split_status status{};
  extent_t time = 0;             ///< the longest of all modules
  growing_array<int> devices{};  ///< of each module
  growing_array<int> needed{};   ///< fewest with which each module takes less than `time`; -1: it never does
};

namespace detail {

/// Fewest devices with which the module keeps to `limit`, which is itself kept to where `reaches`; -1 of none.
constexpr int fewest_devices(const module_load& m, extent_t limit, bool reaches) {
  int fewest = -1;
  for (const device_time& c : m.choice)
    if (c.devices >= m.least && (c.time < limit || (reaches && c.time == limit)) && (fewest < 0 || c.devices < fewest))
      fewest = c.devices;
  return fewest;
}

/// Devices of all modules; -1 where one has none.
constexpr extent_t sum_of_devices(const growing_array<int>& devices) {
  extent_t sum = 0;
  for (const int d : devices) {
    if (d < 0) return -1;
    sum += d;
  }
  return sum;
}

constexpr growing_array<int> fewest_of_all(const growing_array<module_load>& load, extent_t limit, bool reaches) {
  growing_array<int> devices;
  for (const module_load& m : load) devices.push(fewest_devices(m, limit, reaches));
  return devices;
}

constexpr split_status check_loads(const growing_array<module_load>& load, int devices) {
  if (devices < 1) return {.code = split_code::devices_are_not_positive, .given = devices};
  if (load.empty()) return {.code = split_code::split_has_no_module};
  extent_t fewest = 0;
  for (int m = 0; m < load.size; ++m) {
    const module_load& one = load.item[m];
    int least = -1;
    for (int c = 0; c < one.choice.size; ++c) {
      const device_time& each = one.choice.item[c];
      if (each.devices < 1)
        return {.code = split_code::size_is_not_positive, .module = m, .choice = c, .given = each.devices};
      if (each.time < 0) return {.code = split_code::time_is_negative, .module = m, .choice = c};
      if (each.devices >= one.least && (least < 0 || each.devices < least)) least = each.devices;
    }
    if (least < 0) return {.code = split_code::module_has_no_size, .module = m, .expected = one.least};
    fewest += least;
  }
  if (fewest > devices) return {.code = split_code::devices_are_too_few, .given = devices, .expected = fewest};
  return {};
}

}  // namespace detail

/// The split of least longest time over at most `devices`; refused where not even the fewest fit.
constexpr device_split split_devices(const growing_array<module_load>& load, int devices) {
  device_split s;
  s.status = detail::check_loads(load, devices);
  if (!s.status.ok()) return s;
  growing_array<extent_t> time;
  growing_array<int> order;
  for (const module_load& m : load)
    for (const device_time& c : m.choice) order.push(time.push(c.time));
  detail::sort_by_falling(order, time);
  int kept = 0, missed = order.size;  // the fewest devices of all keep to the longest time
  while (missed - kept > 1) {
    const int middle = kept + (missed - kept) / 2;
    const extent_t sum = detail::sum_of_devices(detail::fewest_of_all(load, time.item[order.item[middle]], true));
    (sum >= 0 && sum <= devices ? kept : missed) = middle;
  }
  s.time = time.item[order.item[kept]];
  s.devices = detail::fewest_of_all(load, s.time, true);
  s.needed = detail::fewest_of_all(load, s.time, false);
  return s;
}

/// Whether the split is one of these modules over `devices`, and its `needed` prove that none takes less: each module's
/// entries with fewer devices take no less than `time`, and all modules need more devices than there are. Reads nothing of
/// how the split was found. O(entries).
constexpr bool is_least_split(const growing_array<module_load>& load, int devices, const device_split& s) {
  if (s.devices.size != load.size || s.needed.size != load.size) return false;
  extent_t used = 0, needed = 0, longest = -1;
  bool never = false;
  for (int m = 0; m < load.size; ++m) {
    const int mine = s.devices.item[m], more = s.needed.item[m];
    extent_t taken = -1;
    for (const device_time& c : load.item[m].choice) {
      if (c.devices < load.item[m].least) continue;
      if (c.devices == mine && (taken < 0 || c.time < taken)) taken = c.time;
      if ((more < 0 || c.devices < more) && c.time < s.time) return false;
    }
    if (taken < 0) return false;
    longest = larger(longest, taken);
    used += mine;
    needed += more < 0 ? 0 : more;
    never = never || more < 0;
  }
  return longest == s.time && used <= devices && (never || needed > devices);
}

/// A table with a group for each module, of its name and as many ranks, one behind the other; the last ranks may be idle.
/// Law: it passes check_groups where names differ and fit. Domain: the split is not refused and has at most `world` devices.
constexpr group_table groups_of_split(const device_split& s, const char* const* name, int world) {
  group_table t;
  t.world = world;
  t.disjoint = true;
  int first = 0;
  for (int m = 0; m < s.devices.size; ++m) {
    add_group(t, name[m], rank_range{first, first + s.devices.item[m] - 1});
    add_module(t, name[m], name[m]);
    first += s.devices.item[m];
  }
  return t;
}

}}  // namespace hyperparallel::v0_2
