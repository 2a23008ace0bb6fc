// SPDX-License-Identifier: Apache-2.0
#pragma once
// One level of an interconnect: devices in groups of `group` consecutive ranks reach each other over links of one kind.
//
// Law (alpha-beta): a transfer of n bytes takes alpha + n·beta, alpha the latency and beta one over the bandwidth.

#include <hyperparallel/hardware/cost.hpp>
#include <hyperparallel/support/fixed_string.hpp>

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

/// A level that joins every rank.
inline constexpr int unbounded_group = INT32_MAX;

struct link_level {
  short_text name{};
  int group = unbounded_group;  ///< ranks [i·group, (i+1)·group) are joined
  std::int64_t bandwidth = 0;   ///< bytes per second, one direction, of one device on this level
  std::int64_t latency = 0;     ///< picoseconds
  friend constexpr bool operator==(const link_level&, const link_level&) = default;
};

/// Time of one message. 0 bytes still pay the latency: a signal is a message. Domain: bytes ≥ 0. O(1).
constexpr time_cost transfer_time(const link_level& level, std::int64_t bytes) {
  return then(latencies(1, level.latency), work_time(bytes, 1, 1, level.bandwidth));
}

}}  // namespace hyperparallel::v0_2
