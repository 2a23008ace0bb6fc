// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory tiers of a device, and the links between them, as the planner of memory tiers takes them.

#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/offload/offload_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Tier 0's capacity is the budget of everything in it.
struct tier_hardware {
  growing_array<offload_tier> tier;
  growing_array<offload_link> link;
};

/// The tiers of a device under a budget for tier 0, every slower tier behind a link each way. A tier's bandwidth is
/// what streaming code reaches. O(tiers).
constexpr tier_hardware tiers_of(const device_value& d, extent_t budget) {
  tier_hardware h;
  h.tier.push({budget, -1, -1});
  for (int t = 1; t < d.tier_count; ++t) {
    const offload_link link = link_between(d.tier[0], d.tier[t]);
    const int in = h.link.push(link), out = h.link.push(link);
    h.tier.push({d.tier[t].bytes, in, out});
  }
  return h;
}

}}  // namespace hyperparallel::v0_2
