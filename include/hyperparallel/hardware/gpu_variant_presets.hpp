// SPDX-License-Identifier: Apache-2.0
#pragma once
// GPUs that differ from a preset of gpu_presets.hpp in memory, power or generation, as types; the same conventions.
//
// Each names what it changes and by which data sheet; the rest is its base's.

#include <hyperparallel/hardware/gpu_presets.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// The device with another first memory.
constexpr device_value with_memory(device_value d, std::int64_t bytes, std::int64_t bandwidth) {
  d.tier[0].bytes = bytes;
  d.tier[0].bandwidth = bandwidth;
  return d;
}

}  // namespace detail

/// NVIDIA A100 SXM 40 GB in DGX A100 (1 TB): data sheet, 1555 GB/s; the rest as A100 80 GB.
struct a100_40gb {
  static constexpr device_value device = [] {
    device_value d = detail::with_memory(a100::device, 40 * GiB, 1555 * gigabyte);
    d.tier[1].bytes = 128 * gigabyte;
    return d;
  }();
  static constexpr topology_value topology = a100::topology;
};

/// NVIDIA H100 with 96 GB of HBM2e, 2.4 TB/s, limited to 500 W, as in the measurements of arXiv 2410.06511 (torchtitan). Peaks are
/// those of the SXM's data sheet, of which products reach less at that power (fitted_shares.hpp).
struct h100_96gb {
  static constexpr device_value device = [] {
    device_value d = detail::with_memory(h100::device, 96 * GiB, 2400 * gigabyte);
    d.gmm_cold = detail::fitted_share_of("h100_96gb");
    return d;
  }();
  static constexpr topology_value topology = h100::topology;
};

/// NVIDIA H20: data sheet, 78 multiprocessors, 148 Tflop/s in bf16, 296 in int8, 44 in f32, 1 in f64, 96 GB at 4 TB/s, 60 MB of
/// L2, NVLink as H100. L2's bandwidth: assumed, in proportion to the multiprocessors.
struct h20 {
  static constexpr device_value device = [] {
    device_value d = detail::with_memory(h100::device, 96 * GiB, 4000 * gigabyte);
    d.aic = d.aiv = 78;
    const std::int64_t rate[number_format_count] = {148 * teraflops, 148 * teraflops, 44 * teraflops,
                                                    296 * teraflops, 1 * teraflops,   296 * teraflops};
    for (int f = 0; f < number_format_count; ++f) d.matrix_flops[f] = rate[f];
    d.vector_flops = 44 * teraflops;
    d.vector_flops_f64 = 1 * teraflops;
    d.l2_bytes = 60 * MiB;
    d.l2_bandwidth = 3250 * gigabyte;
    return d;
  }();
  static constexpr topology_value topology = h100::topology;
};

/// NVIDIA B300 in HGX B300: data sheet, 2.3 TB for eight GPUs at 8 TB/s each, bf16 and fp8 as B200, int8 a fifteenth of bf16, fp4 108 Pflop/s
/// for eight, the share of the peak that products are assumed to reach of others, since it has more power, 800 Gb/s a GPU; the rest as B200.
struct b300 {
  static constexpr device_value device = [] {
    device_value d = detail::with_memory(b200::device, 288 * GiB, 8000 * gigabyte);
    d.matrix_flops[static_cast<int>(number_format::int8)] = 150 * teraflops;
    d.matrix_flops[static_cast<int>(number_format::float4)] = 13'500 * teraflops;
    d.gmm_cold = assumed::matrix_share;
    return d;
  }();
  static constexpr topology_value topology =
      detail::nvlink_server(900 * gigabyte, detail::nvlink4_share, 800 * gigabit_per_second);
};

/// GB300 NVL72: data sheet, 20 TB of HBM and 1080 Pflop/s in fp4 for 72 GPUs, 800 Gb/s a GPU; products as GB200, int8 as B300.
struct gb300 {
  static constexpr device_value device = [] {
    device_value d = detail::with_memory(gb200::device, 278 * GiB, 8000 * gigabyte);
    d.matrix_flops[static_cast<int>(number_format::int8)] = b300::device.matrix_flops[3];
    d.matrix_flops[static_cast<int>(number_format::float4)] = 15'000 * teraflops;
    d.gmm_cold = assumed::matrix_share;
    return d;
  }();
  static constexpr topology_value topology =
      topology_of(detail::nvlink_level(72, 900 * gigabyte, detail::nvlink4_share),
                  detail::infiniband_level(800 * gigabit_per_second));
};

/// AMD MI325X, eight on a platform: data sheet, 256 GB at 6 TB/s; the rest as MI300X.
struct mi325x {
  static constexpr device_value device = detail::with_memory(mi300x::device, 256 * GiB, 6000 * gigabyte);
  static constexpr topology_value topology = mi300x::topology;
};

/// AMD MI355X, eight on a platform: data sheet, 256 compute units, 2.5 Pflop/s in bf16, 5 in int8 and fp8, 10.1 in fp4, 157 Tflop/s in f32, 78.6 in f64,
/// 288 GB at 8 TB/s, seven links of 76.8 GB/s a direction. L2's bandwidth and the network are assumed as MI300X's.
struct mi355x {
  static constexpr device_value device = [] {
    device_value d = detail::with_memory(mi300x::device, 288 * GiB, 8000 * gigabyte);
    d.aic = d.aiv = 256;
    const std::int64_t rate[number_format_count] = {2'516'600 * gigaflops, 2'516'600 * gigaflops, 157'300 * gigaflops,
                                                    5'033'200 * gigaflops, 78'600 * gigaflops,    5'033'200 * gigaflops,
                                                    10'066'300 * gigaflops};
    for (int f = 0; f < number_format_count; ++f) d.matrix_flops[f] = rate[f];
    d.vector_flops = 157'300 * gigaflops;
    d.vector_flops_f64 = 78'600 * gigaflops;
    return d;
  }();
  static constexpr topology_value topology = topology_of(
      link_level{"infinity_fabric", 8, 537'600'000'000, assumed::switch_latency}, mi300x::topology.level[1]);
};

}}  // namespace hyperparallel::v0_2
