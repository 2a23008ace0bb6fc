// SPDX-License-Identifier: Apache-2.0
#pragma once
// GPUs in their servers as types. A rank is a GPU; both kinds of core are its multiprocessors, so `vector_flops` are those
// of f32 outside of matrix units, and f32 products are done there, not in TF32. Rates of f64 are those
// of the data sheets of A100, H100, H200 and MI300X; on the other presets work in f64 has no price.
//
// Peaks are dense, from the data sheets that each preset names. Bandwidths of links are one direction: half of what data
// sheets give for both; their GB of device memory are 2^30 bytes, as devices report them. What messages reach of NVLink and
// InfiniBand by their size has sources (preset_parts.hpp). Of attention and grouped products the shares of an H100's peak were
// measured, and are taken of all GPUs' peaks; what other products reach of A100, H100 and GB200 is fitted (fitted_shares.hpp); other shares of cores and memory,
// launches and latencies are assumed.
// Host memory: the server's, an even part of its capacity for each GPU, over the GPU's own host link.

#include <hyperparallel/hardware/fitted_shares.hpp>
#include <hyperparallel/hardware/preset_parts.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Of GPUs: the assumed shares, but for attention and grouped products those of a measured H100.
constexpr device_value with_gpu_shares(device_value d) {
  d = with_assumed_shares(d);
  d.as_measured = true;
  return d;
}

/// A server of eight GPUs whose links all go through switches, and a network port for each GPU.
constexpr topology_value nvlink_server(std::int64_t nvlink, efficiency reached, std::int64_t network) {
  return topology_of(nvlink_level(8, nvlink, reached), infiniband_level(network));
}

/// Of NVLink 4, by large messages of NCCL: 370 of 450 GB/s, NVIDIA/nccl-tests issue 212; of NVLink 5 assumed.
inline constexpr efficiency nvlink4_share{822'000};

/// What H100, H200 and H800 have in common: NVIDIA H100 data sheet (SXM5). H800 computes less in f64, arXiv
/// 2505.09343 does not say how much.
constexpr device_value make_hopper(std::int64_t bytes, std::int64_t bandwidth, std::int64_t f64_products,
                                   std::int64_t f64_vectors) {
  device_value d = with_gpu_shares(
      {.aic = 132,
       .aiv = 132,
       .matrix_flops = {989 * teraflops, 989 * teraflops, 67 * teraflops, 1979 * teraflops, f64_products,
                        1979 * teraflops},
       .vector_flops = 67 * teraflops,
       .vector_flops_f64 = f64_vectors,
       .l2_bytes = 50 * MiB,             // H100 architecture white paper
       .l2_bandwidth = 5500 * gigabyte,  // assumed
       .tier_count = 2,
       // 2 TB a DGX server; PCIe 5 x16, 64 GB/s a direction.
       .tier = {{memory_kind::hbm, bytes, bandwidth}, {memory_kind::dram, 256 * gigabyte, 64 * gigabyte}}});
  d.gmm_cold = fitted_share_of("h100");
  return d;
}

/// B200, and the GPU of GB200 at a higher clock. The number of multiprocessors and L2: assumed, as devices report them. Their power limits the
/// share of the peak that products reach (fitted_shares.hpp).
constexpr device_value make_blackwell(std::int64_t bf16, std::int64_t bytes, std::int64_t host_bytes,
                                      std::int64_t host_bandwidth) {
  device_value d = with_gpu_shares(
      {.aic = 148,
       .aiv = 148,
       .matrix_flops = {bf16, bf16, 80 * teraflops, 2 * bf16, 0, 2 * bf16, 4 * bf16},
       .vector_flops = 80 * teraflops,
       .l2_bytes = 126 * MiB,
       .l2_bandwidth = 10'000 * gigabyte,  // assumed
       .tier_count = 2,
       .tier = {{memory_kind::hbm, bytes, 8000 * gigabyte}, {memory_kind::dram, host_bytes, host_bandwidth}}});
  d.gmm_cold = fitted_share_of("gb200");
  return d;
}

/// Peaks of NVIDIA A100 80 GB, SXM and PCIe, which differ in memory: data sheet; L2: A100 white paper, 5120 B a cycle at
/// 1.41 GHz. Host: PCIe 4 x16, 32 GB/s a direction.
constexpr device_value make_a100(std::int64_t bandwidth, std::int64_t host_bytes) {
  device_value d = with_gpu_shares(
      {.aic = 108,
       .aiv = 108,
       .matrix_flops = {312 * teraflops, 312 * teraflops, 19'500 * gigaflops, 624 * teraflops, 19'500 * gigaflops},
       .vector_flops = 19'500 * gigaflops,
       .vector_flops_f64 = 9700 * gigaflops,
       .l2_bytes = 40 * MiB,
       .l2_bandwidth = 7200 * gigabyte,
       .tier_count = 2,
       .tier = {{memory_kind::hbm, 80 * GiB, bandwidth}, {memory_kind::dram, host_bytes, 32 * gigabyte}}});
  d.gmm_cold = fitted_share_of("a100");
  return d;
}

}  // namespace detail

/// NVIDIA A100 SXM 80 GB in DGX A100 (2 TB): data sheets. NVLink 600 GB/s in both directions, HDR InfiniBand 200 Gb/s a GPU.
/// Large messages of NCCL reach 230 GB/s of NVLink's 300, NVIDIA/nccl-tests issue 149.
struct a100 {
  static constexpr device_value device = detail::make_a100(2039 * gigabyte, 256 * gigabyte);
  static constexpr topology_value topology = detail::nvlink_server(300 * gigabyte, {766'000}, 200 * gigabit_per_second);
};

/// NVIDIA H100 SXM in DGX H100: data sheets. NVLink 900 GB/s in both directions, NDR InfiniBand 400 Gb/s a GPU.
struct h100 {
  static constexpr device_value device = detail::make_hopper(80 * GiB, 3350 * gigabyte, 67 * teraflops, 34 * teraflops);
  static constexpr topology_value topology =
      detail::nvlink_server(450 * gigabyte, detail::nvlink4_share, 400 * gigabit_per_second);
};

/// NVIDIA H200 SXM: data sheet, 141 GB at 4.8 TB/s; the rest as H100.
struct h200 {
  static constexpr device_value device =
      detail::make_hopper(141 * GiB, 4800 * gigabyte, 67 * teraflops, 34 * teraflops);
  static constexpr topology_value topology = h100::topology;
};

/// NVIDIA H800 SXM: as H100 with NVLink of 400 GB/s in both directions and 400 Gb/s a GPU, arXiv 2505.09343, which reaches
/// 160 of 200 GB/s.
struct h800 {
  static constexpr device_value device = detail::make_hopper(80 * GiB, 3350 * gigabyte, 0, 0);
  static constexpr topology_value topology =
      detail::nvlink_server(200 * gigabyte, per_mille(800), 400 * gigabit_per_second);
};

/// NVIDIA B200 in DGX B200: data sheet, 1440 GB and 64 TB/s for eight GPUs, bf16 a quarter of the sparse fp8 rate (72
/// Pflop/s for eight), NVLink 1.8 TB/s in both directions, 400 Gb/s a GPU, 2 TB of host memory behind PCIe 5.
struct b200 {
  static constexpr device_value device =
      detail::make_blackwell(2250 * teraflops, 180 * GiB, 256 * gigabyte, 64 * gigabyte);
  static constexpr topology_value topology =
      detail::nvlink_server(900 * gigabyte, detail::nvlink4_share, 400 * gigabit_per_second);
};

/// GB200 NVL72: data sheet, 360 Pflop/s sparse bf16, 13.4 TB of HBM and 17 TB of LPDDR5X for 72 GPUs; a Grace CPU, 512 GB/s,
/// serves two GPUs over NVLink-C2C, of which each is assumed to get half. Network: assumed, 400 Gb/s a GPU.
struct gb200 {
  static constexpr device_value device =
      detail::make_blackwell(2500 * teraflops, 186 * GiB, 236 * gigabyte, 256 * gigabyte);
  static constexpr topology_value topology =
      topology_of(detail::nvlink_level(72, 900 * gigabyte, detail::nvlink4_share),
                  detail::infiniband_level(400 * gigabit_per_second));
};

/// AMD MI300X, eight on a platform: data sheet. Infinity Fabric: seven links of 64 GB/s a direction, one to each other GPU;
/// the level has all of them, as collectives of eight use them, a pair alone a seventh. L2: the Infinity Cache, 17.2 TB/s.
/// Network, 400 Gb/s a GPU, and host memory, 2 TB, are assumed.
struct mi300x {
  static constexpr device_value device = detail::with_gpu_shares(
      {.aic = 304,
       .aiv = 304,
       .matrix_flops = {1307 * teraflops, 1307 * teraflops, 163 * teraflops, 2614 * teraflops, 163 * teraflops,
                        2614 * teraflops},
       .vector_flops = 163 * teraflops,
       .vector_flops_f64 = 81'700 * gigaflops,
       .l2_bytes = 256 * MiB,
       .l2_bandwidth = 17'200 * gigabyte,
       .tier_count = 2,
       .tier = {{memory_kind::hbm, 192 * GiB, 5300 * gigabyte}, {memory_kind::dram, 256 * gigabyte, 64 * gigabyte}}});
  static constexpr topology_value topology =
      topology_of(link_level{"infinity_fabric", 8, 448 * gigabyte, assumed::switch_latency},
                  link_level{"network", unbounded_group, 400 * gigabit_per_second, assumed::network_latency});
};

/// Eight NVIDIA A100 PCIe 80 GB without NVLink: data sheet, PCIe 4 x16. Assumed: all traffic of a server goes through its
/// PCIe switches, 1 TB of host memory, and two 200 Gb/s ports that its GPUs share.
struct a100_pcie {
  static constexpr device_value device = detail::make_a100(1935 * gigabyte, 128 * gigabyte);
  static constexpr topology_value topology = topology_of(link_level{"pcie", 8, 32 * gigabyte, 5 * microsecond},
                                                         detail::infiniband_level(50 * gigabit_per_second));
};

/// Eight NVIDIA L40S in an Ethernet server: data sheet, dense peaks (half of the sparse ones), 48 GB at 864 GB/s, 96 MB of L2,
/// PCIe 4 x16. Assumed: L2 bandwidth, 1 TB of host memory, one 100 Gb/s Ethernet port that the GPUs share, TCP latency.
struct l40s_ethernet {
  static constexpr device_value device = detail::with_gpu_shares(
      {.aic = 142,
       .aiv = 142,
       .matrix_flops = {362 * teraflops, 362 * teraflops, 91'600 * gigaflops, 733 * teraflops, 0, 733 * teraflops},
       .vector_flops = 91'600 * gigaflops,
       .l2_bytes = 96 * MiB,
       .l2_bandwidth = 5000 * gigabyte,
       .tier_count = 2,
       .tier = {{memory_kind::hbm, 48 * GiB, 864 * gigabyte}, {memory_kind::dram, 128 * gigabyte, 32 * gigabyte}}});
  static constexpr topology_value topology =
      topology_of(link_level{"pcie", 8, 32 * gigabyte, 5 * microsecond},
                  link_level{"ethernet", unbounded_group, 12'500 * gigabit_per_second / 1000, 30 * microsecond});
};

}}  // namespace hyperparallel::v0_2
