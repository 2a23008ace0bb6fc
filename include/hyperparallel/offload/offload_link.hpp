// SPDX-License-Identifier: Apache-2.0
#pragma once
// A link that carries copies one way, first in, first out, and how long a copy holds it.
//
// Law: a copy of n > 0 bytes takes latency + n ÷ bandwidth, in picoseconds, rounded up; none takes no time. Whoever
// plans, paces or prices copies between memory tiers asks this one function, so they agree to the picosecond. Between
// two tiers of a device the narrower end's bandwidth and the slower end's latency decide, as in hardware/device.hpp.

#include <cstdint>

#include <hyperparallel/hardware/cost.hpp>
#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Of a link that only its latency, and the memory at hand, hold up: it takes a picosecond for nine million bytes.
inline constexpr std::int64_t unlimited_bandwidth = INT64_MAX;

struct offload_link {
  extent_t bytes_per_second = unlimited_bandwidth;
  extent_t latency = 0;  ///< picoseconds before the first byte
  friend constexpr bool operator==(const offload_link&, const offload_link&) = default;
};

/// How long `bytes` hold a link; `longest_time` where that leaves 64 bits. Domain: bytes, latency ≥ 0, bandwidth > 0.
/// O(1).
constexpr extent_t link_copy_time(const offload_link& l, extent_t bytes) {
  if (bytes == 0) return 0;
  const detail::wide_unsigned rate = static_cast<detail::wide_unsigned>(l.bytes_per_second);
  const detail::wide_unsigned time =
      (static_cast<detail::wide_unsigned>(bytes) * static_cast<detail::wide_unsigned>(second) + rate - 1) / rate +
      static_cast<detail::wide_unsigned>(l.latency);
  return time < static_cast<detail::wide_unsigned>(longest_time) ? static_cast<extent_t>(time) : longest_time;
}

/// The link between two tiers of a device.
constexpr offload_link link_between(const memory_tier& a, const memory_tier& b) {
  offload_link l{unlimited_bandwidth, a.latency > b.latency ? a.latency : b.latency};
  const memory_tier both[] = {a, b};
  for (const memory_tier& t : both) {
    const std::int64_t reached = detail::millionths(t.bandwidth, t.reached.parts_per_million);
    if (reached < l.bytes_per_second) l.bytes_per_second = reached;
  }
  return l;
}

}}  // namespace hyperparallel::v0_2
