// SPDX-License-Identifier: Apache-2.0
#pragma once
// TPUs in their pods as types. A rank is a chip.
//
// Sources: Google Cloud's pages "TPU v4", "TPU v5e" and "TPU v5p" for peaks, HBM and bandwidth of the interconnect; for v4
// also arXiv 2304.01433. A torus is taken for one level of links: a chip is assumed to use the two links along one axis at a
// time, and ranks of the pod are all equally far. f32 products are assumed to be six of bf16; f16 is not multiplied. Vector
// rates, the host's memory where no page states it, launches and latencies are assumed (preset_parts.hpp).

#include <hyperparallel/hardware/preset_parts.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

constexpr device_value make_tpu(int matrix_units, int cores, std::int64_t bf16, std::int64_t int8, std::int64_t vector,
                                std::int64_t bytes, std::int64_t bandwidth, std::int64_t host_bytes) {
  return with_assumed_shares(
      {.aic = matrix_units,
       .aiv = cores,
       .matrix_flops = {bf16, 0, bf16 / 6, int8},
       .vector_flops = vector,
       .tier_count = 2,
       // PCIe 3 x16 to the host: assumed.
       .tier = {{memory_kind::hbm, bytes, bandwidth}, {memory_kind::dram, host_bytes, 16 * gigabyte}}});
}

constexpr topology_value pod_of(int chips, std::int64_t link, std::int64_t network) {
  return topology_of(link_level{"ici", chips, 2 * link, 1 * microsecond},
                     link_level{"data_center", unbounded_group, network, 10 * microsecond});
}

}  // namespace detail

/// Two cores of four matrix units, 275 Tflop/s, 32 GiB at 1.2 TB/s; six links of 50 GB/s a direction, pods of 4096. Network:
/// assumed, 50 Gb/s a chip as v5p.
struct tpu_v4 {
  static constexpr device_value device = detail::make_tpu(8, 2, 275 * teraflops, 275 * teraflops, 4300 * gigaflops,
                                                          32 * GiB, 1228 * gigabyte, 100 * gigabyte);
  static constexpr topology_value topology = detail::pod_of(4096, 50 * gigabyte, 50 * gigabit_per_second);
};

/// One core of four matrix units, 197 Tflop/s, 16 GiB at 819 GB/s; four links of 50 GB/s a direction, pods of 256. Network:
/// assumed, 25 Gb/s a chip.
struct tpu_v5e {
  static constexpr device_value device = detail::make_tpu(4, 1, 197 * teraflops, 393 * teraflops, 3000 * gigaflops,
                                                          16 * GiB, 819 * gigabyte, 48 * gigabyte);
  static constexpr topology_value topology = detail::pod_of(256, 50 * gigabyte, 25 * gigabit_per_second);
};

/// Two cores of four matrix units, 459 Tflop/s, 95 GiB at 2765 GB/s; 1200 GB/s for both directions of six links, pods of 8960,
/// 50 Gb/s of data-center network a chip, 448 GB of host memory for four. int8: twice bf16.
struct tpu_v5p {
  static constexpr device_value device = detail::make_tpu(8, 2, 459 * teraflops, 918 * teraflops, 14'000 * gigaflops,
                                                          95 * GiB, 2765 * gigabyte, 112 * gigabyte);
  static constexpr topology_value topology = detail::pod_of(8960, 100 * gigabyte, 50 * gigabit_per_second);
};

}}  // namespace hyperparallel::v0_2
