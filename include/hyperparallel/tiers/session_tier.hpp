// SPDX-License-Identifier: Apache-2.0
#pragma once
// A memory tier of an offload session: a name, a capacity, and the links between it and tier 0, where kernels work.

#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/offload/offload_link.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct session_tier {
  std::string name;
  std::int64_t capacity = 0;  ///< bytes
  offload_link in{};          ///< from this tier to tier 0; without meaning for tier 0
  offload_link out{};         ///< from tier 0 to this tier
};

/// The tiers of a device, each behind links of its own that are as fast as the slower end.
std::vector<session_tier> session_tiers(const device_value& device);

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/tiers/session_tier.ipp>
#endif
