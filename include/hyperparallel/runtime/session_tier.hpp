// SPDX-License-Identifier: Apache-2.0
#pragma once
// A memory tier of an offload session: a name, a capacity, and the links between it and tier 0, where kernels work.

#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/runtime/copy_rate.hpp>

namespace hyperparallel {

struct session_tier {
  std::string name;
  std::int64_t capacity = 0;  ///< bytes
  copy_rate in{};             ///< from this tier to tier 0; without meaning for tier 0
  copy_rate out{};            ///< from tier 0 to this tier
};

/// The tiers of a device, each behind links of its own that are as fast as the slower end.
inline std::vector<session_tier> session_tiers(const device_value& device) {
  std::vector<session_tier> tiers;
  for (int t = 0; t < device.tier_count; ++t) {
    const memory_tier& m = device.tier[t];
    const copy_rate rate = rate_between(device.tier[0], m);
    tiers.push_back({m.kind == hbm ? "hbm" : m.kind == dram ? "dram" : "storage", m.bytes, rate, rate});
  }
  return tiers;
}

}  // namespace hyperparallel
