// SPDX-License-Identifier: Apache-2.0
#pragma once
// What presets of hardware are written with: levels as a list, and the numbers that no source gives.

#include <hyperparallel/hardware/device.hpp>
#include <hyperparallel/hardware/topology.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A topology of these levels, innermost first.
template <class... Level>
constexpr topology_value topology_of(const Level&... level) {
  static_assert(sizeof...(Level) <= max_link_levels);
  return {static_cast<int>(sizeof...(Level)), {level...}};
}

/// Assumed for every accelerator whose data sheet states peaks alone.
namespace assumed {

inline constexpr matrix_tile tile{128, 128};                ///< of a core in a large product
inline constexpr efficiency matrix_share = per_mille(700);  ///< of the peak, by a large product: msmodeling's default
inline constexpr efficiency tile_share = per_mille(800);    ///< by tiles of a resident taskflow
inline constexpr efficiency memory_share = per_mille(850);  ///< of the peak, by streaming code
inline constexpr efficiency host_share = per_mille(800);    ///< of a host link, by a large copy
inline constexpr std::int64_t host_latency = 5 * microsecond;
inline constexpr std::int64_t launch = 2 * microsecond;           ///< of an operator
inline constexpr std::int64_t signal = 2 * microsecond;           ///< until a waiter sees it
inline constexpr std::int64_t switch_latency = 2 * microsecond;   ///< of a message within a server
inline constexpr std::int64_t network_latency = 5 * microsecond;  ///< over InfiniBand or RoCE
inline constexpr std::int64_t flagged_message = 128 * KiB;  ///< up to which NCCL sends a flag with each word of data
inline constexpr std::int64_t whole_message = MiB;          ///< from which on it sends data alone

}  // namespace assumed

namespace detail {

/// A link inside a server of GPUs of whose bandwidth large messages of NCCL reach `share`, and small ones, half of whose bytes
/// are flags, half of it.
constexpr link_level nvlink_level(int gpus, std::int64_t bandwidth, efficiency share) {
  return {"nvlink",
          gpus,
          bandwidth,
          assumed::switch_latency,
          {{assumed::flagged_message, {share.parts_per_million / 2}}, {assumed::whole_message, share}}};
}

/// InfiniBand between servers. Large messages reach 24 GB/s of a port of 200 Gb/s: NVIDIA/nccl-tests issue 119; assumed for
/// every size and port.
constexpr link_level infiniband_level(std::int64_t bandwidth) {
  return {
      "infiniband", unbounded_group, bandwidth, assumed::network_latency, {{assumed::whole_message, per_mille(960)}}};
}

/// Peaks of a data sheet, and the assumed numbers beside them; `d` has cores, rates, L2 and capacities.
constexpr device_value with_assumed_shares(device_value d) {
  d.tier[0].reached = assumed::memory_share;
  if (d.tier_count > 1) {
    d.tier[1].reached = assumed::host_share;
    d.tier[1].latency = assumed::host_latency;
  }
  d.gmm_cold = assumed::matrix_share;
  d.gmm_warm = assumed::tile_share;
  d.tile = assumed::tile;
  d.task_overhead = assumed::launch;
  d.synchronisation_latency = d.vector_synchronisation_latency = assumed::signal;
  return d;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
