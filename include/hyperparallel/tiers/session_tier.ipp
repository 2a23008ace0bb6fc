// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of session_tier.hpp; see support/compiled.hpp.

#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/tiers/session_tier.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY std::vector<session_tier> session_tiers(const device_value& device) {
  std::vector<session_tier> tiers;
  for (int t = 0; t < device.tier_count; ++t) {
    const memory_tier& m = device.tier[t];
    const offload_link link = link_between(device.tier[0], m);
    tiers.push_back({m.kind == hbm ? "hbm" : m.kind == dram ? "dram" : "storage", m.bytes, link, link});
  }
  return tiers;
}

}}  // namespace hyperparallel::v0_2
