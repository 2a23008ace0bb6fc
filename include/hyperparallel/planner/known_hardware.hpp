// SPDX-License-Identifier: Apache-2.0
#pragma once
// All presets by name, as values: what tools look hardware up in.
//
// Laws: names are distinct; a device reports no more than it has; every preset passes check_hardware on all devices that its links join. Sources of numbers
// stand with the presets (hardware/*presets.hpp). O(presets).

#include <hyperparallel/hardware/ascend_presets.hpp>
#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/hardware/gpu_variant_presets.hpp>
#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/hardware/tpu_presets.hpp>
#include <hyperparallel/redistribution/interconnect.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct known_hardware {
  short_text name{};
  device_value device{};
  interconnect links{};
  memory_pool pool{};  ///< that the devices' DRAM is in, where it is shared; else one of no CPUs
  /// Of its first memory what a device reports as its total, the rest being the driver's and the context's; 0: not known.
  std::int64_t reported_bytes = 0;
};

namespace detail {

/// Hundredths of GiB: what torch and torch_npu name as the total of a device, as in "GPU 0 has a total capacity of 79.10 GiB".
template <hardware_type Hardware>
constexpr known_hardware known_as(const char* name, int reported_hundredths = 0) {
  known_hardware h{name, Hardware::device, interconnect_of(Hardware::topology)};
  if constexpr (requires { Hardware::pool; }) h.pool = Hardware::pool;
  h.reported_bytes = GiB / 100 * reported_hundredths;
  return h;
}

}  // namespace detail

/// The device with the memory that a program can have of it: what it reports, else all of it.
constexpr device_value reported_device(const known_hardware& h) {
  device_value d = h.device;
  if (h.reported_bytes > 0) d.tier[0].bytes = h.reported_bytes;
  return d;
}

/// The device with its part of the shared DRAM, where all devices hold and copy at once that the outermost links of
/// bounded reach join; else the device. O(levels).
constexpr device_value device_in_pool(const known_hardware& h) {
  if (h.pool.cpus == 0 || h.links.kind != interconnect_kind::topology) return h.device;
  int sharers = 1;
  for (int l = 0; l < h.links.topology.level_count; ++l)
    if (const int group = h.links.topology.level[l].group; group != unbounded_group) sharers = group;
  return with_pool(h.device, h.pool, sharers);
}

/// The links of so many ranks, which are dealt evenly to the innermost groups: where they are more than a group joins and no multiple of that, each
/// group has as many as divides them, if that is more than half of it. Of a rack of 72, 256 ranks have 64 in each of four. O(group).
constexpr interconnect dealt_evenly(interconnect links, extent_t ranks) {
  if (links.kind != interconnect_kind::topology || links.topology.level_count < 2) return links;
  int& group = links.topology.level[0].group;
  if (group >= ranks || ranks % group == 0 || links.topology.level[1].group != unbounded_group) return links;
  for (int each = group; 2 * each > group; --each)
    if (ranks % each == 0) {
      group = each;
      break;
    }
  return links;
}

/// The first is what tools take where none is named.
inline constexpr known_hardware hardware_presets[] = {
    detail::known_as<matrix384>("matrix384"),
    detail::known_as<ascend_910b>("ascend_910b", 6097),
    detail::known_as<ascend_910c>("ascend_910c"),
    detail::known_as<ascend_910c_die>("ascend_910c_die"),
    detail::known_as<supernode_8192_2d>("supernode_8192_2d"),
    detail::known_as<supernode_8192_4d>("supernode_8192_4d"),
    detail::known_as<supernode_15488_2d>("supernode_15488_2d"),
    detail::known_as<supernode_15488_4d>("supernode_15488_4d"),
    detail::known_as<a100>("a100", 7910),
    detail::known_as<h100>("h100", 7910),
    detail::known_as<h200>("h200"),
    detail::known_as<h800>("h800", 7910),
    detail::known_as<b200>("b200", 17840),
    detail::known_as<gb200>("gb200"),
    detail::known_as<mi300x>("mi300x"),
    detail::known_as<a100_40gb>("a100_40gb", 3939),
    detail::known_as<h100_96gb>("h100_96gb"),
    detail::known_as<h20>("h20"),
    detail::known_as<b300>("b300"),
    detail::known_as<gb300>("gb300"),
    detail::known_as<mi325x>("mi325x"),
    detail::known_as<mi355x>("mi355x"),
    detail::known_as<tpu_v4>("tpu_v4"),
    detail::known_as<tpu_v5e>("tpu_v5e"),
    detail::known_as<tpu_v5p>("tpu_v5p"),
    detail::known_as<a100_pcie>("a100_pcie", 7910),
    detail::known_as<l40s_ethernet>("l40s_ethernet"),
    detail::known_as<generic_host>("generic_host"),
};

/// The preset of that name, or null.
constexpr const known_hardware* find_hardware(const char* name) {
  for (const known_hardware& h : hardware_presets)
    if (detail::same_text(h.name.text, name)) return &h;
  return nullptr;
}

}}  // namespace hyperparallel::v0_2
