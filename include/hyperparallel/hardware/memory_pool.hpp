// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory that many devices share: CPUs' DRAM behind the fabric, as a pool.
//
// A device copies at the bandwidth of its own tier until so many copy at once that the pool's CPUs are saturated; each then
// gets an even part. Laws: what all sharers get together is at most what the pool has, of bytes and of bandwidth; with one
// sharer the tier's own bandwidth is not exceeded. O(1).

#include <hyperparallel/hardware/device.hpp>

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

struct memory_pool {
  int cpus = 0;
  std::int64_t bytes_per_cpu = 0;
  std::int64_t bandwidth_per_cpu = 0;  ///< bytes per second, one direction
  friend constexpr bool operator==(const memory_pool&, const memory_pool&) = default;
};

namespace detail {

constexpr std::int64_t capacity_of(const memory_pool& p) { return p.cpus * p.bytes_per_cpu; }

/// What each of `sharers` devices gets that alone would copy at `own` bytes per second. Domain: sharers ≥ 1.
constexpr std::int64_t shared_bandwidth(const memory_pool& p, std::int64_t own, int sharers) {
  const std::int64_t part = p.cpus * p.bandwidth_per_cpu / sharers;
  return part < own ? part : own;
}

}  // namespace detail

/// The device with its DRAM behind tier 0 as one of `sharers` that hold and copy evenly. A device without such a tier is unchanged.
/// Domain: sharers ≥ 1.
constexpr device_value with_pool(device_value d, const memory_pool& p, int sharers) {
  const int t = tier_behind(d, memory_kind::dram);
  if (t < 0) return d;
  d.tier[t].bytes = detail::capacity_of(p) / sharers;
  d.tier[t].bandwidth = detail::shared_bandwidth(p, d.tier[t].bandwidth, sharers);
  return d;
}

}}  // namespace hyperparallel::v0_2
